import type { JsonObject } from "../../base/json.ts";
import { nonEmpty, parseObject } from "../../dialects/json/json-fields.ts";
import { clockProblem } from "../credentials/clock-problem.ts";
import { CredentialUnavailable } from "../credentials/credential.ts";
import type { HeaderToken } from "../credentials/token-credential.ts";
import { bearerTokenIn, callTokenHost, type TokenResponse } from "../credentials/token-host.ts";
import type { IssuedToken } from "../credentials/token-source.ts";
import { type ExternalAccount, readExternalAccount } from "./external-account.ts";
import { addressProblem, tokenScope } from "./key-fields.ts";

const defaultTokenUri = "https://oauth2.googleapis.com/token";
const assertionSeconds = 3600;

/** The supported kinds of Google's key files. */
export type GoogleKey = OwnKey | ExternalAccount;

/** Keys issued by Google itself. */
type OwnKey = ServiceAccount | AuthorizedUser;

interface ServiceAccount {
  readonly type: "service_account";
  readonly clientEmail: string;
  readonly privateKey: string;
  readonly privateKeyId: string | null;
  readonly tokenUri: string;
  readonly projectId: string | null;
}

/** Written by `gcloud auth application-default login`. */
interface AuthorizedUser {
  readonly type: "authorized_user";
  readonly clientId: string;
  readonly clientSecret: string;
  readonly refreshToken: string;
  readonly quotaProject: string | null;
  readonly tokenUri: string;
  readonly projectId: null;
}

/** The key, or what is wrong with the file, as the end of a sentence that starts with the setting's name. */
export function readGoogleKey(text: string): GoogleKey | string {
  const file = parseObject(text);
  if (file === null) return "is not a key file: it must be the JSON key file from Google";
  const tokenUri = nonEmpty(file["token_uri"]) ?? defaultTokenUri;
  const problem = addressProblem("token_uri", tokenUri);
  if (problem !== null) return problem;
  switch (file["type"]) {
    case "service_account":
      return readServiceAccount(file, tokenUri);
    case "authorized_user":
      return readAuthorizedUser(file, tokenUri);
    case "external_account":
      return readExternalAccount(file);
    default:
      return 'is not a key file: its type must be "service_account", "authorized_user" or "external_account"';
  }
}

function readServiceAccount(file: JsonObject, tokenUri: string): GoogleKey | string {
  const clientEmail = nonEmpty(file["client_email"]);
  const privateKey = nonEmpty(file["private_key"]);
  if (clientEmail === null || privateKey === null)
    return "is not a service account key: client_email or private_key is missing";
  const privateKeyId = nonEmpty(file["private_key_id"]);
  const projectId = nonEmpty(file["project_id"]);
  return { type: "service_account", clientEmail, privateKey, privateKeyId, tokenUri, projectId };
}

function readAuthorizedUser(file: JsonObject, tokenUri: string): GoogleKey | string {
  const clientId = nonEmpty(file["client_id"]);
  const clientSecret = nonEmpty(file["client_secret"]);
  const refreshToken = nonEmpty(file["refresh_token"]);
  if (clientId === null || clientSecret === null || refreshToken === null)
    return "is not a user credential: client_id, client_secret or refresh_token is missing";
  const quotaProject = nonEmpty(file["quota_project_id"]);
  return {
    type: "authorized_user",
    clientId,
    clientSecret,
    refreshToken,
    quotaProject,
    tokenUri,
    projectId: null,
  };
}

/** https://developers.google.com/identity/protocols/oauth2/service-account */
export async function issueByKey(
  key: OwnKey,
  wallMs: number,
  signal: AbortSignal,
): Promise<IssuedToken<HeaderToken>> {
  const form =
    key.type === "service_account"
      ? {
          grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
          assertion: await assertionOf(key, wallMs),
        }
      : {
          grant_type: "refresh_token",
          client_id: key.clientId,
          client_secret: key.clientSecret,
          refresh_token: key.refreshToken,
        };
  const answer = await callTokenHost({ method: "POST", url: key.tokenUri, form }, signal);
  if (answer.status !== 200) throw new CredentialUnavailable(`Google ${whyRejected(answer, key)}`);
  const quotaProject = key.type === "authorized_user" ? key.quotaProject : null;
  return bearerTokenIn(answer, quotaProject === null ? {} : { "x-goog-user-project": quotaProject });
}

function whyRejected(answer: TokenResponse, { type }: OwnKey): string {
  if (answer.status >= 500) return `returned ${answer.status}`;
  const clock = clockProblem(answer.clockBehindMs);
  if (clock !== null) return `rejects the key: ${clock}`;
  const code = answer.body["error"];
  if (code === "invalid_grant") {
    return type === "service_account"
      ? "rejects the key: it may have been deleted, or the clock may be off"
      : "rejects the login: it has expired; run `gcloud auth application-default login` again";
  }
  return `did not issue a token (${answer.status}); check the key file`;
}

/** A JSON Web Token (RFC 7519), signed with RS256. */
async function assertionOf(account: ServiceAccount, wallMs: number): Promise<string> {
  const { clientEmail, privateKeyId, tokenUri } = account;
  const iat = Math.floor(wallMs / 1000);
  const header = { alg: "RS256", typ: "JWT", ...(privateKeyId === null ? {} : { kid: privateKeyId }) };
  const claims = { iss: clientEmail, scope: tokenScope, aud: tokenUri, iat, exp: iat + assertionSeconds };
  return signJwt(header, claims, await importKey(account.privateKey));
}

export async function signJwt(header: JsonObject, claims: JsonObject, key: CryptoKey): Promise<string> {
  const signed = `${base64Url(JSON.stringify(header))}.${base64Url(JSON.stringify(claims))}`;
  const signature = await crypto.subtle.sign("RSASSA-PKCS1-v1_5", key, new TextEncoder().encode(signed));
  return `${signed}.${Buffer.from(signature).toString("base64url")}`;
}

/** Accepts any line ends; an environment variable may contain `\n` as two characters. */
export async function importKey(pem: string): Promise<CryptoKey> {
  const base64 = pem
    .replaceAll("\\n", "\n")
    .replace(/-----[^-]+-----/g, "")
    .replace(/\s+/g, "");
  try {
    const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
    return await crypto.subtle.importKey("pkcs8", Buffer.from(base64, "base64"), algorithm, false, ["sign"]);
  } catch (cause) {
    throw new CredentialUnavailable("private_key in the key file cannot be read; download a new key file", {
      cause,
    });
  }
}

function base64Url(text: string): string {
  return Buffer.from(text).toString("base64url");
}
