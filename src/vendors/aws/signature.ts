import { CryptoHasher } from "bun";

/**
 * AWS Signature Version 4: proves possession of the secret without sending it. Covers the method, the path, the passed
 * headers and the exact bytes of the body.
 */

export interface AwsKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Null for keys that do not expire. */
  readonly sessionToken: string | null;
}

export interface SignedScope {
  readonly region: string;
  readonly service: string;
}

/** What a signature covers. */
export interface SignedParts {
  readonly method: string;
  /** Percent-encoded, with its query. */
  readonly target: string;
  /** The headers to sign, `host` included, by lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | string;
}

/** Signs with one key for one service of one region. The derived key is kept for its day. */
export class RequestSigner {
  readonly #key: AwsKey;
  readonly #scope: SignedScope;
  #day = "";
  #signingKey: Uint8Array = new Uint8Array();

  constructor(key: AwsKey, scope: SignedScope) {
    this.#key = key;
    this.#scope = scope;
  }

  sign(request: SignedParts, nowMs: number) {
    const date = amzDate(nowMs);
    const token = this.#key.sessionToken;
    const added = { "x-amz-date": date, ...(token === null ? {} : { "x-amz-security-token": token }) };
    const headers = { ...request.headers, ...added };
    const names = Object.keys(headers).sort();
    const day = date.slice(0, 8);
    const scope = `${day}/${this.#scope.region}/${this.#scope.service}/aws4_request`;
    const signed = names.join(";");
    const hash = hexDigest(
      `${request.method}\n${canonicalTarget(request.target)}\n${canonicalHeaders(headers, names)}\n` +
        `${signed}\n${hexDigest(request.body)}`,
    );
    const signature = hmac(this.#signingKeyOf(day), `AWS4-HMAC-SHA256\n${date}\n${scope}\n${hash}`);
    const authorization =
      `AWS4-HMAC-SHA256 Credential=${this.#key.accessKeyId}/${scope}, ` +
      `SignedHeaders=${signed}, Signature=${signature.toHex()}`;
    return { ...added, authorization };
  }

  #signingKeyOf(day: string): Uint8Array {
    if (day !== this.#day) {
      const { region, service } = this.#scope;
      const dayKey = hmac(`AWS4${this.#key.secretAccessKey}`, day);
      this.#signingKey = hmac(hmac(hmac(dayKey, region), service), "aws4_request");
      this.#day = day;
    }
    return this.#signingKey;
  }
}

function canonicalHeaders(headers: Readonly<Record<string, string>>, names: readonly string[]): string {
  let lines = "";
  for (const name of names) lines += `${name}:${(headers[name] ?? "").trim().replace(/\s+/g, " ")}\n`;
  return lines;
}

function canonicalTarget(target: string): string {
  const [path = "", query = ""] = target.split(/\?(.*)/s, 2);
  return `${canonicalPath(path)}\n${canonicalQuery(query)}`;
}

/** Every service but S3 resolves dot segments and encodes the segments, which are encoded already, once more. */
function canonicalPath(path: string): string {
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(encode(segment));
  }
  const end = segments.length > 0 && path.endsWith("/") ? "/" : "";
  return `/${segments.join("/")}${end}`;
}

function canonicalQuery(query: string): string {
  if (query === "") return "";
  return query
    .split("&")
    .map((pair) => {
      const [name = "", value = ""] = pair.split(/=(.*)/s, 2);
      return [encode(decodeURIComponent(name)), encode(decodeURIComponent(value))] as const;
    })
    .sort(([name, value], [otherName, otherValue]) => compare(name, otherName) || compare(value, otherValue))
    .map(([name, value]) => `${name}=${value}`)
    .join("&");
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** RFC 3986's unreserved characters stay; `encodeURIComponent` leaves five more. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** `20260101T000000Z` */
function amzDate(nowMs: number): string {
  return new Date(nowMs).toISOString().replace(/[-:]|\.\d{3}/g, "");
}

function hexDigest(data: Uint8Array | string): string {
  return CryptoHasher.hash("sha256", data, "hex");
}

function hmac(key: Uint8Array | string, text: string): Uint8Array {
  return new CryptoHasher("sha256", key).update(text).digest();
}
