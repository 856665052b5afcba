import { expect, test } from "bun:test";
import { isStillAdmitted } from "../../../src/admin/access/guard.ts";
import type { ErrorView } from "../../../src/admin/formats/shapes.ts";
import { tailResponse } from "../../../src/admin/live/tail.ts";
import { exchangeFacts } from "../../observe/fixtures.ts";
import { waitFor } from "../../support/wait.ts";
import { startAdmin, token } from "./fixtures.ts";

const here = { address: "127.0.0.1", isFromProxy: false };

test("a live tail ends for a watcher who has signed out, and goes on for the others", async () => {
  await using admin = await startAdmin();
  const { guard, live } = admin.deps;
  const session = await guard.sessions.begin({ kind: "admin" });
  const watch = (headers: Record<string, string>) => {
    const request = new Request("http://localhost/tail", { headers });
    return tailResponse(live.feed, () => isStillAdmitted(guard, request, here, "viewer"), { everyMs: 1 });
  };
  const signedOut = watch({ cookie: `sluice_session=${session}` });
  const byToken = watch({ authorization: `Bearer ${token}` });
  const unsure = tailResponse(live.feed, () => Promise.reject(new Error("the database is away")), {
    everyMs: 1,
  });
  await guard.sessions.end(session);
  expect(await signedOut.text()).not.toContain("req_later");
  live.observe(exchangeFacts({ requestId: "req_later" }));
  live.close();
  expect(await byToken.text()).toContain("req_later");
  expect(await unsure.text()).toContain("req_later");
});

test("a viewer has ten live tails at most, and another one when one of them is closed", async () => {
  await using admin = await startAdmin();
  const open = () => admin.call("/tail");
  const tails = await Promise.all(Array.from({ length: 10 }, open));
  expect(tails.map(({ status }) => status)).toEqual(Array(10).fill(200));
  const refused = await open();
  expect(refused.status).toBe(429);
  expect(((await refused.json()) as ErrorView).error.code).toBe("too_many_tails");
  await tails[0]?.body?.cancel();
  await waitFor(async () => (await open()).status === 200, "a place for another tail");
});
