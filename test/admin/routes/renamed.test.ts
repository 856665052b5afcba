import { expect, test } from "bun:test";
import type { ErrorView } from "../../../src/admin/system/schema.ts";
import { startAdmin } from "./fixtures.ts";

const post = (body: object) => ({ method: "POST", body: JSON.stringify(body) });

test.each([
  ["/exchanges?limit=5", {}, 404, "/exchanges was renamed to /requests."],
  ["/exchanges/req_1/content", {}, 404, "/exchanges/req_1/content was renamed to /requests/req_1/content."],
  ["/attention", {}, 404, "/attention was renamed to /alerts."],
  ["/keys/key_1/extend", post({}), 404, "/keys/key_1/extend was renamed to /keys/key_1/raise-cap."],
  ["/keys", post({ mode: "credit", open: true }), 400, "`open` was renamed to `postpaid`."],
  ["/keys", post({ mode: "credit", scope: "openai" }), 400, "`scope` was renamed to `provider_scope`."],
  ["/keys?scope=openai", {}, 400, "`scope` was renamed to `provider_scope`."],
  ["/exchanged", {}, 404, "Unknown path GET /admin/api/v1/exchanged; /admin/api/v1/openapi.json lists them."],
])(
  "an old path or field of the admin API says what it is called now: %s",
  async (path, init, status, message) => {
    await using admin = await startAdmin();
    const response = await admin.call(path, init);
    const { error } = (await response.json()) as ErrorView;
    expect([response.status, error.message]).toEqual([status, message]);
  },
);
