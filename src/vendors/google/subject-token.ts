import { systemClock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Environment } from "../../base/system/environment.ts";
import { nonEmpty, objectOf, parseObject, stringOf } from "../../dialects/json/json-fields.ts";
import { isLoopback } from "../../wire/local-address.ts";
import { issueByChain, regionByMetadata } from "../aws/chain.ts";
import { RequestSigner } from "../aws/signature.ts";
import { CredentialUnavailable } from "../credentials/credential.ts";
import { callTokenHost, readTokenFile } from "../credentials/token-host.ts";

/** The source of a workload's own token, which Google exchanges for one of its own. */
export type SubjectSource = FileSource | UrlSource | AwsSource;

interface FileSource {
  readonly kind: "file";
  readonly file: string;
  readonly format: TokenFormat;
}

interface UrlSource {
  readonly kind: "url";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly format: TokenFormat;
}

interface AwsSource {
  readonly kind: "aws";
  /** `{region}` stands for the region. */
  readonly verificationUrl: string;
}

/** The field of a JSON document that holds the token; null if the text is the token. */
type TokenFormat = string | null;

const defaultVerificationUrl =
  "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15";

/** The source, or what is wrong with it, as the end of a sentence that starts with the setting's name. */
export function readSubjectSource(source: JsonObject): SubjectSource | string {
  if (source["executable"] !== undefined)
    return "gets its token from a program (credential_source.executable), which is not supported; let the program write a file, and set credential_source.file to it";
  if (source["certificate"] !== undefined)
    return "gets its token with a certificate (credential_source.certificate), which is not supported; use a token from a file, a URL or AWS";
  if (source["environment_id"] !== undefined) return readAws(source);
  const format = readFormat(objectOf(source["format"]) ?? {});
  if (format === undefined)
    return 'has an unknown credential_source.format: its type must be "text", or "json" with a subject_token_field_name';
  const file = nonEmpty(source["file"]);
  if (file !== null) return { kind: "file", file, format };
  const url = nonEmpty(source["url"]);
  if (url === null) return "has a credential_source without a file, a url or an environment_id";
  // Clouds have their metadata servers at link-local addresses, without encryption.
  if (!url.startsWith("https://") && !isOnThisMachine(url))
    return "has a credential_source.url that is neither https nor on this machine";
  return { kind: "url", url, headers: headersIn(source), format };
}

function readAws(source: JsonObject): SubjectSource | string {
  if (source["environment_id"] !== "aws1")
    return 'has an unknown credential_source.environment_id; it must be "aws1"';
  const verificationUrl = nonEmpty(source["regional_cred_verification_url"]) ?? defaultVerificationUrl;
  return { kind: "aws", verificationUrl };
}

/** Undefined if it is not known. */
function readFormat(format: JsonObject): TokenFormat | undefined {
  const type = nonEmpty(format["type"]) ?? "text";
  if (type === "text") return null;
  return type === "json" ? (nonEmpty(format["subject_token_field_name"]) ?? undefined) : undefined;
}

function headersIn(source: JsonObject): Record<string, string> {
  const headers = Object.entries(objectOf(source["headers"]) ?? {});
  return Object.fromEntries(
    headers.flatMap(([name, value]) => {
      const text = stringOf(value);
      return text === null ? [] : [[name.toLowerCase(), text]];
    }),
  );
}

function isOnThisMachine(url: string): boolean {
  return isLoopback(url) || /^169\.254(?:\.\d+){2}$/.test(URL.parse(url)?.hostname ?? "");
}

/** The workload's current token: files and servers are read again for each exchange. */
export async function subjectTokenOf(
  source: SubjectSource,
  audience: string,
  env: Environment,
  signal: AbortSignal,
): Promise<string> {
  switch (source.kind) {
    case "file":
      return tokenIn(await readTokenFile(source.file, tokenFile), source.format, tokenFile);
    case "url": {
      const { url, headers } = source;
      const answer = await callTokenHost(
        { method: "GET", url, headers, isLocal: isOnThisMachine(url) },
        signal,
      );
      if (answer.status === 200)
        return tokenIn(answer.text, source.format, "the response of credential_source.url");
      throw new CredentialUnavailable(`credential_source.url returned ${answer.status}`);
    }
    case "aws":
      return signedByAws(source, audience, env, signal);
  }
}

const tokenFile = "the file in credential_source.file";

function tokenIn(text: string, format: TokenFormat, what: string): string {
  const token = format === null ? text.trim() : stringOf(parseObject(text)?.[format]);
  if (token === null || token === "")
    throw new CredentialUnavailable(
      format === null
        ? `${what} is empty`
        : `${what} does not have the field in credential_source.format.subject_token_field_name`,
    );
  return token;
}

/**
 * A signed request for the caller's identity, not sent from here: Google sends it to AWS and learns who signed it. The signature
 * covers the audience, so that no other service can use it.
 * https://cloud.google.com/iam/docs/workload-identity-federation-with-other-clouds
 */
async function signedByAws(
  { verificationUrl }: AwsSource,
  audience: string,
  env: Environment,
  signal: AbortSignal,
): Promise<string> {
  const region = env["AWS_REGION"] || env["AWS_DEFAULT_REGION"] || (await regionByMetadata(env, signal));
  if (region === null || !/^[a-z0-9-]+$/.test(region))
    throw new CredentialUnavailable("the AWS region is unknown; set AWS_REGION");
  const { token: key } = await issueByChain(region, env)(signal);
  const url = verificationUrl.replaceAll("{region}", region);
  const { host, pathname, search } = new URL(url);
  const own = { host, "x-goog-cloud-target-resource": audience };
  const signer = new RequestSigner(key, { region, service: "sts" });
  const request = { method: "POST", target: pathname + search, headers: own, body: "" };
  const signed = { ...own, ...signer.sign(request, systemClock.wallMs()) };
  const headers = Object.entries(signed).map(([name, value]) => ({ key: name, value }));
  return encodeURIComponent(JSON.stringify({ url, method: "POST", headers }));
}
