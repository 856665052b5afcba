import { expect, test } from "bun:test";
import { demoModel, warningsOf } from "./fixtures.ts";

const oidc = `[admin.oidc]
issuer = "https://accounts.example.com"
client_id = "sluice"
client_secret = "env:SECRET"
`;
const env = { SECRET: "s" };

test("lists of people without a way to sign in are warned about", () => {
  const admin = '[admin]\nmembers = "everyone"\nmember_keys = { account = "team" }\n';
  const noEffect = (name: string) => `admin.${name} has no effect without admin.oidc or admin.user_header`;
  expect(warningsOf(demoModel + admin)).toEqual([noEffect("members"), noEffect("member_keys")]);
  expect(warningsOf(demoModel + admin + oidc, { env })).toEqual([]);
  const header = `${admin}user_header = "x-email"\n[server]\ntrusted_proxies = ["10.0.0.1"]\n`;
  expect(warningsOf(demoModel + header)).toEqual([]);
});

test("a name that is no address and no group is warned about where people are known by their address", () => {
  const lists =
    '[admin]\nadmins = ["ada@example.com", "platform"]\nviewers = ["group:finance"]\nmembers = ["engineering"]\n' +
    '[[admin.member_keys]]\nfor = ["contractors"]\naccount = "team"\n';
  const isNoAddress = (list: string, name: string) =>
    `admin.${list} has "${name}", which is not an e-mail address; pass "group:${name}" for a group`;
  expect(warningsOf(demoModel + lists + oidc, { env })).toEqual([
    isNoAddress("admins", "platform"),
    isNoAddress("members", "engineering"),
    isNoAddress("member_keys", "contractors"),
  ]);
  expect(warningsOf(`${demoModel}${lists}${oidc}user_claim = "preferred_username"`, { env })).toEqual([]);
});

test("models of members that the file does not have are warned about, but not Claude Code's own names", () => {
  const admin = (model: string) => `[admin]
member_keys = { account = "team", models = ["m", "${model}"] }
[[admin.managed_settings]]
claude_code = { model = "${model}[1m]", availableModels = ["m", "opusplan", "${model}"] }
`;
  const isNotServed = (at: string) => `admin.${at} has "claude-haiku-9", a model that is not configured`;
  expect(warningsOf(demoModel + admin("claude-haiku-9") + oidc, { env })).toEqual([
    isNotServed("member_keys"),
    isNotServed("managed_settings[0]"),
  ]);
  expect(warningsOf(demoModel + admin("m") + oidc, { env })).toEqual([]);
});
