import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { abortAfter } from "../../base/loop/deadline.ts";
import { rememberIssuedSecret } from "../../base/secrets/secrets.ts";
import type { Environment } from "../../base/system/environment.ts";
import { isLoopback } from "../../wire/local-address.ts";
import { clockProblem } from "../credentials/clock-problem.ts";
import { CredentialUnavailable } from "../credentials/credential.ts";
import {
  callTokenHost,
  readTokenFile,
  type TokenRequest,
  type TokenResponse,
} from "../credentials/token-host.ts";
import type { Issue, IssuedToken } from "../credentials/token-source.ts";
import type { AwsKey } from "./signature.ts";

/** Keys without an expiry are looked up again after this time, since an operator may have changed them. */
const longLifeMs = 60 * 60_000;
/** Short, because outside of AWS nothing responds there. */
const metadataTimeoutMs = 1000;
const metadataServer = "http://169.254.169.254";
const containerServer = "http://169.254.170.2";

/**
 * Looks for keys where Amazon's own tools do: in the environment, by a web identity, from the container's host, from the
 * machine's, and in the profile. The first place that is set up decides.
 */
export function issueByChain(region: string, env: Environment = process.env): Issue<AwsKey> {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret, AWS_SESSION_TOKEN: token } = env;
  return async (signal) => {
    if (id && secret) return lasting(id, secret, token);
    if (env["AWS_WEB_IDENTITY_TOKEN_FILE"] && env["AWS_ROLE_ARN"])
      return byWebIdentity(env["AWS_WEB_IDENTITY_TOKEN_FILE"], env["AWS_ROLE_ARN"], region, env, signal);
    const container = containerAddress(env);
    if (container !== null) return fromContainer(container, env, signal);
    return (await fromMetadata(env, signal)) ?? fromProfile(env);
  };
}

/** https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html */
async function byWebIdentity(
  tokenFile: string,
  role: string,
  region: string,
  env: Environment,
  signal: AbortSignal,
): Promise<IssuedToken<AwsKey>> {
  const token = await readTokenFile(tokenFile, "the file in AWS_WEB_IDENTITY_TOKEN_FILE");
  rememberIssuedSecret(token);
  const answer = await callTokenHost(
    {
      method: "POST",
      url: env["AWS_ENDPOINT_URL_STS"] ?? `https://sts.${region}.amazonaws.com/`,
      form: {
        Action: "AssumeRoleWithWebIdentity",
        Version: "2011-06-15",
        RoleArn: role,
        RoleSessionName: env["AWS_ROLE_SESSION_NAME"] ?? "sluice",
        WebIdentityToken: token,
      },
    },
    signal,
  );
  if (answer.status === 200) return keyIn(answer);
  const advice = clockProblem(answer.clockBehindMs) ?? "check the role in AWS_ROLE_ARN and its trust policy";
  throw new CredentialUnavailable(`Amazon's token service returned ${answer.status}; ${advice}`);
}

function containerAddress(env: Environment): string | null {
  const relative = env["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"];
  if (relative) return containerServer + relative;
  return env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] || null;
}

/** AWS's own container hosts. With any other, an environment variable could make the gateway leak its token. */
const containerHosts: ReadonlySet<string> = new Set(["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"]);

async function fromContainer(
  url: string,
  env: Environment,
  signal: AbortSignal,
): Promise<IssuedToken<AwsKey>> {
  const parsed = URL.parse(url);
  const isTrusted =
    parsed?.protocol === "https:" || isLoopback(url) || containerHosts.has(parsed?.hostname ?? "");
  if (!isTrusted) throw new CredentialUnavailable("AWS_CONTAINER_CREDENTIALS_FULL_URI must be https");
  const file = env["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"];
  const token = file
    ? await readTokenFile(file, "the file in AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
    : env["AWS_CONTAINER_AUTHORIZATION_TOKEN"];
  if (token) rememberIssuedSecret(token);
  const headers: Record<string, string> = token ? { authorization: token } : {};
  const answer = await callTokenHost({ method: "GET", url, headers, isLocal: true }, signal);
  if (answer.status === 200) return keyIn(answer);
  throw new CredentialUnavailable(`the container's credential host returned ${answer.status}`);
}

/** Null if there is no metadata server, or no role for this machine. */
async function fromMetadata(env: Environment, signal: AbortSignal): Promise<IssuedToken<AwsKey> | null> {
  const call = await metadataSession(env, signal);
  if (call === null) return null;
  const roles = "/iam/security-credentials/";
  const role = await call(roles);
  const [name = ""] = role.status === 200 ? role.text.trim().split("\n") : [];
  if (name === "") return null;
  const answer = await call(roles + encodeURIComponent(name));
  if (answer.status === 200) return keyIn(answer);
  throw new CredentialUnavailable(`the machine's metadata server returned ${answer.status}`);
}

/** The region that this machine is in; null if there is no metadata server. */
export async function regionByMetadata(env: Environment, signal: AbortSignal): Promise<string | null> {
  const call = await metadataSession(env, signal);
  const answer = call === null ? null : await call("/placement/region");
  const region = answer?.status === 200 ? answer.text.trim() : "";
  return /^[a-z0-9-]+$/.test(region) ? region : null;
}

/** IMDSv2: reads paths below `/latest/meta-data`. Null if there is no metadata server. */
async function metadataSession(
  env: Environment,
  signal: AbortSignal,
): Promise<((path: string) => Promise<TokenResponse>) | null> {
  if (env["AWS_EC2_METADATA_DISABLED"]?.toLowerCase() === "true") return null;
  const server = env["AWS_EC2_METADATA_SERVICE_ENDPOINT"] ?? metadataServer;
  const call = (request: Pick<TokenRequest, "method" | "url" | "headers">) =>
    callTokenHost({ ...request, isLocal: true }, AbortSignal.any([signal, abortAfter(metadataTimeoutMs)]));
  const lifetime = { "x-aws-ec2-metadata-token-ttl-seconds": "21600" };
  let session: TokenResponse;
  try {
    session = await call({ method: "PUT", url: `${server}/latest/api/token`, headers: lifetime });
  } catch {
    return null;
  }
  if (session.status !== 200) return null;
  const token = session.text.trim();
  rememberIssuedSecret(token);
  const headers = { "x-aws-ec2-metadata-token": token };
  return (path) => call({ method: "GET", url: `${server}/latest/meta-data${path}`, headers });
}

async function fromProfile(env: Environment): Promise<IssuedToken<AwsKey>> {
  const home = env["HOME"] ?? homedir();
  const file = env["AWS_SHARED_CREDENTIALS_FILE"] ?? join(home, ".aws", "credentials");
  const profile = env["AWS_PROFILE"] ?? "default";
  const notFoundText =
    "no AWS credentials found: not in the environment, a web identity, a container, this machine's role or ~/.aws/credentials";
  const settings = profileIn(await readFile(file, "utf8").catch(() => ""), profile);
  const { aws_access_key_id: id, aws_secret_access_key: secret, aws_session_token: token } = settings;
  if (id === undefined || secret === undefined) throw new CredentialUnavailable(notFoundText);
  return lasting(id, secret, token);
}

function profileIn(text: string, profile: string): Readonly<Record<string, string>> {
  const settings: Record<string, string> = {};
  let section = "";
  for (const line of text.split(/\r?\n/)) {
    section = /^\s*\[\s*(.*?)\s*\]/.exec(line)?.[1] ?? section;
    const [, name, value] = /^\s*(\w+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (section === profile && name !== undefined && value !== undefined) settings[name] = value;
  }
  return settings;
}

function lasting(id = "", secret = "", token?: string): IssuedToken<AwsKey> {
  return { token: remembered(id, secret, token), lifeMs: longLifeMs };
}

/**
 * Reads keys. The hosts of containers and machines respond in JSON, the token service in XML, with other names for the
 * same fields.
 */
function keyIn({ text, body }: TokenResponse): IssuedToken<AwsKey> {
  const value = (...names: readonly string[]) => {
    for (const name of names) {
      const inJson = body[name];
      if (typeof inJson === "string" && inJson !== "") return inJson;
      const inXml = new RegExp(`<${name}>([^<]+)</${name}>`).exec(text)?.[1];
      if (inXml !== undefined) return inXml;
    }
    return undefined;
  };
  const id = value("AccessKeyId");
  const secret = value("SecretAccessKey");
  if (id === undefined || secret === undefined)
    throw new CredentialUnavailable("Amazon's credential host returned no keys");
  const expiresAtMs = Date.parse(value("Expiration") ?? "");
  const lifeMs = Number.isNaN(expiresAtMs) ? longLifeMs : Math.max(1000, expiresAtMs - Date.now());
  return { token: remembered(id, secret, value("SessionToken", "Token")), lifeMs };
}

function remembered(accessKeyId: string, secretAccessKey: string, token: string | undefined): AwsKey {
  rememberIssuedSecret(secretAccessKey);
  if (token) rememberIssuedSecret(token);
  return { accessKeyId, secretAccessKey, sessionToken: token || null };
}
