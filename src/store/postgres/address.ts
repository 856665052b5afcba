import type { StorePassword } from "../settings.ts";
import { StoreError } from "../store.ts";

const tlsModes = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const;
type TlsMode = (typeof tlsModes)[number];

/** The location of a database and how to connect. Its `name` is for display and contains no secret. */
export interface PostgresAddress {
  /** `db.example.com:5432/sluice`. */
  readonly name: string;
  readonly hostname: string;
  readonly port: number;
  readonly database: string;
  readonly username: string;
  readonly password: StorePassword | null;
  readonly tls: TlsMode;
  /** A file with the certificates to trust instead of the system's. */
  readonly rootCertificates: string | null;
}

/** Reads `postgres://user@host:5432/database?sslmode=verify-full&sslrootcert=/path`. Errors never repeat the URL. */
export function parseAddress(text: string, password: StorePassword | null): PostgresAddress {
  const url = /^postgres(?:ql)?:\/\//i.test(text) ? URL.parse(text) : null;
  if (url === null) {
    throw invalid("it must have the form postgres://user@host:5432/database, with one host");
  }
  const database = decoded(url.pathname.slice(1));
  if (url.hostname === "" || database === "" || database.includes("/")) {
    throw invalid("it needs one host and one database, as in postgres://user@host:5432/database");
  }
  if (url.username === "") throw invalid("it needs a user, as in postgres://user@host:5432/database");
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
  const port = url.port === "" ? 5432 : Number(url.port);
  return {
    name: `${url.hostname}:${port}/${database}`,
    hostname,
    port,
    database,
    username: decoded(url.username),
    password: url.password === "" ? password : decoded(url.password),
    ...tlsOf(url.searchParams),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw invalid("it has a % that does not begin an encoded character; use %25 for a literal %");
  }
}

function tlsOf(parameters: URLSearchParams): Pick<PostgresAddress, "tls" | "rootCertificates"> {
  const unknown = [...parameters.keys()].find((name) => name !== "sslmode" && name !== "sslrootcert");
  if (unknown !== undefined) {
    throw invalid(`parameter ${unknown} is not supported; only sslmode and sslrootcert are`);
  }
  const sslMode = parameters.get("sslmode") ?? "prefer";
  const tls = tlsModes.find((mode) => mode === sslMode);
  if (tls === undefined) throw invalid(`sslmode must be one of ${tlsModes.join(", ")}`);
  const rootCertificates = parameters.get("sslrootcert");
  if (rootCertificates !== null && (tls === "disable" || tls === "prefer")) {
    throw invalid(
      "sslrootcert needs sslmode=verify-full, or verify-ca if the host name does not have to match",
    );
  }
  return { tls, rootCertificates };
}

function invalid(reason: string): StoreError {
  return new StoreError("invalid_url", `The store's URL is invalid: ${reason}.`);
}
