import { defaults } from "./defaults.ts";
import { type LoadContext, secretAt, validFields } from "./problems.ts";
import type { ConfigFile } from "./schema.ts";
import { isHost } from "./server.ts";
import type { AdminSettings, OidcSettings } from "./settings.ts";

const minTokenLength = 16;
const headerName = /^[a-z0-9-]+$/;

type AdminConfig = Partial<NonNullable<ConfigFile["admin"]>>;

export function adminSettings(config: ConfigFile, context: LoadContext): AdminSettings {
  const { problems } = context;
  const admin: AdminConfig = validFields(config.admin, "admin", problems);
  const holders = admin.holders ?? [];
  const publicUrl = admin.public_url ?? null;
  if (publicUrl !== null && !isPlainOrigin(publicUrl)) {
    problems.add(
      "admin.public_url",
      'must be an origin without a path, such as "https://sluice.example.com"',
    );
  }
  return {
    token: configuredToken(admin.token, context),
    listen: listener(admin.listen, "admin.listen", "127.0.0.1:8788", context),
    metricsListen: listener(admin.metrics_listen, "admin.metrics_listen", "127.0.0.1:9090", context),
    publicUrl,
    people: {
      admins: (admin.admins ?? []).map(asCompared),
      viewers: (admin.viewers ?? []).map(asCompared),
      holders: holders === "everyone" ? holders : holders.map(asCompared),
    },
    holdersMayCreate: admin.holders_may_create ?? null,
    userHeader: proxyHeader(admin.user_header, "admin.user_header", config, context),
    groupsHeader: proxyHeader(admin.groups_header, "admin.groups_header", config, context),
    oidc: admin.oidc === undefined || !problems.isValidAt("admin.oidc") ? null : oidc(admin.oidc, context),
  };
}

/** Addresses and groups compare without case. The signs of kelvin, ångström and ohm are no capital letters, and would become `k`, `å`, `ω`. */
export function asCompared(name: string): string {
  return name.trim().replaceAll(/[^\u2126\u212a\u212b]+/g, (letters) => letters.toLowerCase());
}

function listener(address: string | undefined, place: string, example: string, { problems }: LoadContext) {
  if (address === undefined) return null;
  if (!isListenAddress(address)) problems.add(place, `must be host:port, such as "${example}"`);
  return address;
}

function isListenAddress(text: string): boolean {
  const [, bracketed, name = "", port = ""] = /^(?:\[([^\]]+)\]|([^:\s]+)):(\d{1,5})$/.exec(text) ?? [];
  return isHost(bracketed ?? name) && port !== "" && Number(port) <= 65_535;
}

/** The environment beats the file. */
function configuredToken(reference: string | undefined, context: LoadContext): string | null {
  const fromEnvironment = context.env["SLUICE_ADMIN_TOKEN"]?.trim() || undefined;
  const inFile = () =>
    reference === undefined ? null : secretAt("admin.token", reference, context, "admin.token is not used");
  const token = fromEnvironment ?? inFile();
  if (token !== null && token.length < minTokenLength) {
    const place = fromEnvironment === undefined ? "admin.token" : "SLUICE_ADMIN_TOKEN";
    context.problems.add(place, `must have at least ${minTokenLength} characters, so that nobody guesses it`);
  }
  return token;
}

function isPlainOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text.replace(/\/$/, "");
}

/** Anybody could send the header, if no proxy were named that it is believed from. */
function proxyHeader(
  name: string | undefined,
  place: string,
  config: ConfigFile,
  { problems }: LoadContext,
): string | null {
  if (name === undefined) return null;
  if (!headerName.test(name.toLowerCase())) problems.add(place, "must be the name of a header");
  if ((config.server?.trusted_proxies ?? []).length === 0) {
    problems.add(place, "is believed from server.trusted_proxies alone; name the proxy there");
  }
  return name.toLowerCase();
}

function oidc(config: NonNullable<AdminConfig["oidc"]>, context: LoadContext): OidcSettings | null {
  const issuer = URL.parse(config.issuer);
  const isLoopback = issuer !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(issuer.hostname);
  if (issuer === null || (issuer.protocol !== "https:" && !isLoopback)) {
    context.problems.add("admin.oidc.issuer", "must be an https address; http is for this machine alone");
    return null;
  }
  const path = "admin.oidc.client_secret";
  const clientSecret = secretAt(path, config.client_secret, context, "admin.oidc is off");
  if (clientSecret === null) return null;
  return {
    issuer: config.issuer,
    clientId: config.client_id,
    clientSecret,
    scope: config.scope ?? defaults.oidc.scope,
    userClaim: config.user_claim ?? defaults.oidc.userClaim,
    groupsClaim: config.groups_claim ?? defaults.oidc.groupsClaim,
    trustEmail: config.trust_email ?? false,
  };
}
