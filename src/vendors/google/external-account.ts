import type { JsonObject } from "../../base/json.ts";
import { rememberIssuedSecret } from "../../base/secrets/secrets.ts";
import type { Environment } from "../../base/system/environment.ts";
import { nonEmpty, numberOf, objectOf, stringOf } from "../../dialects/json/json-fields.ts";
import { clockProblem } from "../credentials/clock-problem.ts";
import { CredentialUnavailable } from "../credentials/credential.ts";
import type { HeaderToken } from "../credentials/token-credential.ts";
import { bearerTokenIn, callTokenHost, type TokenResponse } from "../credentials/token-host.ts";
import type { IssuedToken } from "../credentials/token-source.ts";
import { addressProblem, tokenScope } from "./key-fields.ts";
import { readSubjectSource, type SubjectSource, subjectTokenOf } from "./subject-token.ts";

const defaultTokenUrl = "https://sts.googleapis.com/v1/token";
const defaultLifeSeconds = 3600;

/**
 * Workload identity federation: another cloud's or an own identity provider's token is exchanged for one of Google's.
 * https://cloud.google.com/iam/docs/workload-identity-federation, https://google.aip.dev/auth/4117
 */
export interface ExternalAccount {
  readonly type: "external_account";
  readonly audience: string;
  readonly subjectTokenType: string;
  readonly tokenUrl: string;
  readonly source: SubjectSource;
  /** Null if the exchanged token is used directly. */
  readonly impersonation: Impersonation | null;
  /** Null for most, which authenticate with only the subject's token. */
  readonly client: { readonly id: string; readonly secret: string } | null;
  readonly workforceProject: string | null;
  readonly quotaProject: string | null;
  readonly projectId: null;
}

/** A service account that the exchanged token may act as. */
interface Impersonation {
  readonly url: string;
  readonly lifeSeconds: number;
}

/** The account, or what is wrong with the file, as the end of a sentence that starts with the setting's name. */
export function readExternalAccount(file: JsonObject): ExternalAccount | string {
  const audience = nonEmpty(file["audience"]);
  const subjectTokenType = nonEmpty(file["subject_token_type"]);
  const from = objectOf(file["credential_source"]);
  if (audience === null || subjectTokenType === null || from === null)
    return "is not a workload identity federation file: audience, subject_token_type or credential_source is missing";
  const tokenUrl = nonEmpty(file["token_url"]) ?? defaultTokenUrl;
  const impersonation = readImpersonation(file);
  const problem =
    addressProblem("token_url", tokenUrl) ??
    (impersonation === null ? null : addressProblem("service_account_impersonation_url", impersonation.url));
  if (problem !== null) return problem;
  const source = readSubjectSource(from);
  if (typeof source === "string") return source;
  const id = nonEmpty(file["client_id"]);
  return {
    type: "external_account",
    audience,
    subjectTokenType,
    tokenUrl,
    source,
    impersonation,
    client: id === null ? null : { id, secret: nonEmpty(file["client_secret"]) ?? "" },
    workforceProject: nonEmpty(file["workforce_pool_user_project"]),
    quotaProject: nonEmpty(file["quota_project_id"]),
    projectId: null,
  };
}

function readImpersonation(file: JsonObject): Impersonation | null {
  const url = nonEmpty(file["service_account_impersonation_url"]);
  if (url === null) return null;
  const settings = objectOf(file["service_account_impersonation"]);
  return { url, lifeSeconds: numberOf(settings?.["token_lifetime_seconds"]) ?? defaultLifeSeconds };
}

export async function issueByFederation(
  account: ExternalAccount,
  env: Environment,
  signal: AbortSignal,
): Promise<IssuedToken<HeaderToken>> {
  const { impersonation, quotaProject } = account;
  const more: Record<string, string> = quotaProject === null ? {} : { "x-goog-user-project": quotaProject };
  const answer = await exchange(account, env, signal);
  if (impersonation === null) return bearerTokenIn(answer, more);
  return impersonate(impersonation, bearerTokenIn(answer), more, signal);
}

/** RFC 8693, at Google's security token service. */
async function exchange(
  account: ExternalAccount,
  env: Environment,
  signal: AbortSignal,
): Promise<TokenResponse> {
  const { audience, subjectTokenType, tokenUrl, source, client, workforceProject } = account;
  const subjectToken = await subjectTokenOf(source, audience, env, signal);
  rememberIssuedSecret(subjectToken);
  const form = {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
    audience,
    scope: tokenScope,
    subject_token_type: subjectTokenType,
    subject_token: subjectToken,
    ...(workforceProject === null || client !== null
      ? {}
      : { options: JSON.stringify({ userProject: workforceProject }) }),
  };
  const headers: Record<string, string> = client === null ? {} : { authorization: basic(client) };
  const answer = await callTokenHost({ method: "POST", url: tokenUrl, headers, form }, signal);
  if (answer.status === 200) return answer;
  throw new CredentialUnavailable(`Google's token service ${whyRejected(answer)}`);
}

function basic({ id, secret }: { readonly id: string; readonly secret: string }): string {
  return `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;
}

/** https://cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken */
async function impersonate(
  { url, lifeSeconds }: Impersonation,
  { token }: IssuedToken<HeaderToken>,
  moreHeaders: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<IssuedToken<HeaderToken>> {
  const body = { scope: [tokenScope], lifetime: `${lifeSeconds}s` };
  const answer = await callTokenHost({ method: "POST", url, headers: token.headers, json: body }, signal);
  if (answer.status !== 200)
    throw new CredentialUnavailable(
      answer.status >= 500
        ? `Google's impersonation service returned ${answer.status}`
        : `the workload cannot act as the service account (${answer.status}); grant it the role Workload Identity User on that account, and check service_account_impersonation_url`,
    );
  const expiresAtMs = Date.parse(stringOf(answer.body["expireTime"]) ?? "");
  const leftMs = expiresAtMs - Date.now() - answer.clockBehindMs;
  const { token: issued } = bearerTokenIn(
    { ...answer, body: { access_token: answer.body["accessToken"] } },
    moreHeaders,
  );
  return { token: issued, lifeMs: leftMs > 0 ? leftMs : lifeSeconds * 1000 };
}

function whyRejected(answer: TokenResponse): string {
  if (answer.status >= 500) return `returned ${answer.status}`;
  const clock = clockProblem(answer.clockBehindMs);
  if (clock !== null) return `rejects the workload's token: ${clock}`;
  return answer.body["error"] === "invalid_grant"
    ? "rejects the workload's token: it may have expired, or be for a different audience"
    : `rejects the exchange (${answer.status}); check the audience and the workload identity pool's provider`;
}
