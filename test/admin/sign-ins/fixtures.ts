import { expect } from "bun:test";
import { type AdminServer, startAdmin } from "../routes/fixtures.ts";

export const deviceGrantType = "urn:ietf:params:oauth:grant-type:device_code";

export const signInSettings = `
[server]
trusted_proxies = ["10.0.0.1"]

[admin]
admins = ["ada@example.com"]
viewers = ["vera@example.com"]
members = ["bob@example.com", "group:crew"]
user_header = "x-forwarded-email"
groups_header = "x-forwarded-groups"
`;

export const memberKeys = 'member_keys = { account = "crowd", cap = "5/day" }\n';

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly token_type: string;
}

export interface OAuthResponse extends Partial<Tokens> {
  readonly status: number;
  readonly error?: string;
  readonly error_description?: string;
}

/** A gateway's sign-in routes, as programs and the page use them. */
export class SignInWorld {
  readonly admin: AdminServer;
  readonly base: string;
  #signIns = 0;

  constructor(admin: AdminServer, base = "") {
    this.admin = admin;
    this.base = base;
  }

  static async start(more = memberKeys): Promise<SignInWorld> {
    const world = new SignInWorld(await startAdmin(signInSettings + more));
    await world.admin.post("/accounts", { mode: "credit", label: "crowd", credit: 10 });
    return world;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.admin[Symbol.asyncDispose]();
  }

  async send(path: string, form: Readonly<Record<string, string>>, from = "192.0.2.7"): Promise<Response> {
    const url = `${this.admin.url}${this.base}${path}`;
    return fetch(url, { method: "POST", body: new URLSearchParams(form), headers: { "x-from": from } });
  }

  async token(form: Readonly<Record<string, string>>, from?: string): Promise<OAuthResponse> {
    const response = await this.send("/oauth/token", form, from);
    return { status: response.status, ...((await response.json()) as object) };
  }

  async begin(form: Readonly<Record<string, string>> = { surface: "claude_code" }, from?: string) {
    const response = await this.send("/oauth/device_authorization", form, from);
    expect(response.status).toBe(200);
    return (await response.json()) as { readonly device_code: string; readonly user_code: string };
  }

  poll(deviceCode: string, form: Readonly<Record<string, string>> = {}): Promise<OAuthResponse> {
    return this.token({ grant_type: deviceGrantType, device_code: deviceCode, ...form });
  }

  refresh(token: string, from?: string): Promise<OAuthResponse> {
    return this.token({ grant_type: "refresh_token", refresh_token: token }, from);
  }

  as(user: string, groups = ""): Record<string, string> {
    const headers = {
      authorization: "",
      origin: this.admin.url,
      "x-from": "10.0.0.1",
      "x-forwarded-email": user,
    };
    return groups === "" ? headers : { ...headers, "x-forwarded-groups": groups };
  }

  approve(code: string, user = "bob@example.com", groups = ""): Promise<Response> {
    const body = JSON.stringify({ user_code: code });
    return this.admin.call("/device/approve", { method: "POST", headers: this.as(user, groups), body });
  }

  async signIn(user?: string, groups?: string): Promise<Tokens> {
    // An address gets ten codes a minute.
    this.#signIns += 1;
    const begun = await this.begin(undefined, `198.51.100.${this.#signIns}`);
    const approved = await this.approve(begun.user_code, user, groups);
    if (approved.status !== 200) throw new Error(await approved.text());
    const { status, ...tokens } = await this.poll(begun.device_code);
    expect(status).toBe(200);
    return tokens as Tokens;
  }

  /** The key that an access token stands for; null if it is not valid. */
  keyOf(token: string) {
    return this.admin.deps.keys.find(token);
  }

  get(path: string, token: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    const url = `${this.admin.url}${this.base}${path}`;
    return fetch(url, { headers: { authorization: `Bearer ${token}`, ...headers } });
  }

  async audited(): Promise<readonly string[]> {
    const records = await this.admin.store.admin.listAudit({ limit: 100 });
    return records.map(({ action }) => action).filter((action) => action.startsWith("sign_in"));
  }

  open() {
    return this.admin.store.admin.signIns
      .list()
      .then((all) => all.filter(({ endedAtMs }) => endedAtMs === null));
  }
}
