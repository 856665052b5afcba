import { expect, test } from "bun:test";
import { isStillAdmitted } from "../../../src/admin/auth/guard.ts";
import { tailResponse } from "../../../src/admin/routes/tail.ts";
import { exchangeFacts } from "../../observe/fixtures.ts";
import { startAdmin, token } from "./fixtures.ts";

const here = { address: "127.0.0.1", isFromProxy: false };

test("a live tail ends for a watcher who has signed out, and goes on for the others", async () => {
  await using admin = await startAdmin();
  const { guard, live } = admin.deps;
  const session = await guard.sessions.begin({ kind: "admin" });
  const watch = (headers: Record<string, string>) => {
    const request = new Request("http://localhost/tail", { headers });
    return tailResponse(live.feed, () => isStillAdmitted(guard, request, here, "viewer"), 1);
  };
  const signedOut = watch({ cookie: `sluice_session=${session}` });
  const byToken = watch({ authorization: `Bearer ${token}` });
  const unsure = tailResponse(live.feed, () => Promise.reject(new Error("the database is away")), 1);
  await guard.sessions.end(session);
  expect(await signedOut.text()).not.toContain("req_later");
  live.observe(exchangeFacts({ requestId: "req_later" }));
  live.close();
  expect(await byToken.text()).toContain("req_later");
  expect(await unsure.text()).toContain("req_later");
});
