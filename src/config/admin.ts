import type { JsonObject } from "../base/json.ts";
import { decode } from "./decode.ts";
import { isHeaderName } from "./header-name.ts";
import { type LoadContext, validFields } from "./problems.ts";
import { type ConfigFile, configSchema, type SectionSettings } from "./schema.ts";
import { isHost } from "./server.ts";
import type { AdminSettings, ManagedSettings, MemberKeyTerms, OidcSettings } from "./settings.ts";

/** Overrides the file. */
const tokenVariable = "SLUICE_ADMIN_TOKEN";
const minTokenLength = 16;

export function adminSettings(config: ConfigFile, context: LoadContext): AdminSettings {
  const { problems } = context;
  const configured = validFields(config.admin, "admin", problems);
  const isInEnvironment = Boolean(context.env[tokenVariable]?.trim());
  const written = isInEnvironment ? { ...configured, token: `env:${tokenVariable}` } : configured;
  const admin = decode(configSchema.properties.admin, written, "admin", context);
  const { publicUrl, members } = admin;
  if (publicUrl !== null && !isPlainOrigin(publicUrl)) {
    problems.add(
      "admin.public_url",
      'must be an origin without a path, such as "https://sluice.example.com"',
    );
  }
  checkListener(admin.listen, "admin.listen", "127.0.0.1:8788", context);
  checkListener(admin.metricsListen, "admin.metrics_listen", "127.0.0.1:9464", context);
  return {
    ...admin,
    token: longEnough(admin.token, isInEnvironment ? tokenVariable : "admin.token", context),
    admins: admin.admins.map(asCompared),
    viewers: admin.viewers.map(asCompared),
    memberKeys: memberKeyTerms(admin.memberKeys),
    signIns: admin.signIns ?? decode(signInsSchema, {}, "admin.sign_ins", context),
    managedSettings: managedSettings(admin.managedSettings, context),
    members: members === "everyone" ? members : (members ?? []).map(asCompared),
    userHeader: proxyHeader(admin.userHeader, "admin.user_header", config, context),
    groupsHeader: proxyHeader(admin.groupsHeader, "admin.groups_header", config, context),
    oidc: admin.oidc && checkedOidc(admin.oidc, context),
  };
}

const { sign_ins: signInsSchema } = configSchema.properties.admin.properties;

type AdminSection = SectionSettings<"admin">;

function memberKeyTerms(written: AdminSection["memberKeys"]): readonly MemberKeyTerms[] {
  const all = written === null ? [] : Array.isArray(written) ? written : [written];
  return all.map(({ for: whom, account, cap = null, models = null }) => ({
    for: forWhom(whom),
    account,
    cap,
    models,
  }));
}

function managedSettings(
  written: AdminSection["managedSettings"],
  { problems }: LoadContext,
): readonly ManagedSettings[] {
  return written.map(({ for: whom, claude_code: claudeCode }, index) => {
    if (!isJson(claudeCode))
      problems.add(
        `admin.managed_settings[${index}].claude_code`,
        "has a date or a number that JSON cannot have",
      );
    return { for: forWhom(whom), claudeCode: claudeCode as JsonObject };
  });
}

function forWhom(names: readonly string[] | undefined): readonly string[] | null {
  return names?.map(asCompared) ?? null;
}

/** TOML has dates, and numbers that are none. */
function isJson(value: unknown): boolean {
  return Bun.deepEquals(JSON.parse(JSON.stringify(value)), value);
}

/** Addresses and groups compare without case, except the kelvin, ångström and ohm signs, which would become `k`, `å`, `ω`. */
export function asCompared(name: string): string {
  return name.trim().replaceAll(/[^\u2126\u212a\u212b]+/g, (letters) => letters.toLowerCase());
}

function checkListener(
  address: string | null,
  place: string,
  example: string,
  { problems }: LoadContext,
): void {
  if (address !== null && !isListenAddress(address))
    problems.add(place, `must be host:port, such as "${example}"`);
}

function isListenAddress(text: string): boolean {
  const [, bracketed, name = "", port = ""] = /^(?:\[([^\]]+)\]|([^:\s]+)):(\d{1,5})$/.exec(text) ?? [];
  return isHost(bracketed ?? name) && port !== "" && Number(port) <= 65_535;
}

function longEnough(token: string | null, place: string, { problems }: LoadContext): string | null {
  if (token !== null && token.length < minTokenLength)
    problems.add(place, `must have at least ${minTokenLength} characters, so that it cannot be guessed`);
  return token;
}

function isPlainOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text.replace(/\/$/, "");
}

/** Without trusted proxies any client could send the header. */
function proxyHeader(
  name: string | null,
  place: string,
  config: ConfigFile,
  { problems }: LoadContext,
): string | null {
  if (name === null) return null;
  if (!isHeaderName(name)) problems.add(place, "must be the name of a header");
  if ((config.server?.trusted_proxies ?? []).length === 0) {
    problems.add(place, "is trusted only from server.trusted_proxies; add the proxy there");
  }
  return name.toLowerCase();
}

/** Null if it is off, because its secret is not set. */
function checkedOidc(
  { clientSecret, ...oidc }: NonNullable<SectionSettings<"admin">["oidc"]>,
  { problems }: LoadContext,
): OidcSettings | null {
  const issuer = URL.parse(oidc.issuer);
  const isLoopback = issuer !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(issuer.hostname);
  if (issuer === null || (issuer.protocol !== "https:" && !isLoopback)) {
    problems.add("admin.oidc.issuer", "must be an https URL; http is allowed only on this machine");
    return null;
  }
  return clientSecret === null ? null : { ...oidc, clientSecret };
}
