import { signal } from "@preact/signals";
import type { ErrorView, SessionView } from "../../admin/views.ts";

export const adminBase = "/admin/api/v1";
const holderBase = "/usage/api/v1";

/** A key that was shown instead of signing in. It lives in this tab's memory: a reload forgets it. */
export const shownKey = signal<string | null>(null);

/** Who is signed in; null until the server has been asked. Any answer of 401 brings the sign-in page. */
export const session = signal<SessionView | null>(null);

const nobody: SessionView = {
  signed_in: false,
  name: null,
  role: null,
  may_create_keys: false,
  oidc: false,
};

export async function askWhoIsSignedIn(): Promise<void> {
  session.value = await call<SessionView>("GET", "/session").catch(() => nobody);
}

/** An answer that was not 2xx, in the server's own words. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export type Query = Readonly<Record<string, string | number | null | undefined>>;

function pathWith(path: string, query: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined && value !== "") search.set(name, String(value));
  }
  const text = search.toString();
  return text === "" ? path : `${path}?${text}`;
}

async function refusal(response: Response): Promise<ApiError> {
  const body: Partial<ErrorView> | null = await response.json().catch(() => null);
  return new ApiError(
    response.status,
    body?.error?.code ?? "unknown",
    body?.error?.message ?? `The server answered ${response.status}.`,
  );
}

/** Opens the page of a key; the server's refusal is thrown. */
export async function showKey(secret: string): Promise<void> {
  await call("GET", "/keys", undefined, secret);
  shownKey.value = secret;
}

async function call<Answer>(
  method: string,
  path: string,
  body?: unknown,
  secret = shownKey.value,
): Promise<Answer> {
  const response = await fetch((secret === null ? adminBase : holderBase) + path, {
    method,
    credentials: secret === null ? "same-origin" : "omit",
    headers: {
      ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new ApiError(0, "unreachable", "The gateway cannot be reached. Is it running?");
  });
  if (!response.ok) {
    if (response.status === 401) forgetWhoItWas();
    throw await refusal(response);
  }
  return response.status === 204 ? (undefined as Answer) : await response.json();
}

function forgetWhoItWas(): void {
  shownKey.value = null;
  if (session.value?.signed_in) session.value = { ...nobody, oidc: session.value.oidc };
}

/** Ends the session, or forgets the key that was shown. */
export async function signOut(): Promise<void> {
  if (shownKey.value === null) await call("DELETE", "/session").catch(() => undefined);
  shownKey.value = null;
  await askWhoIsSignedIn();
}

export const api = {
  get: <Answer>(path: string, query: Query = {}) => call<Answer>("GET", pathWith(path, query)),
  post: <Answer>(path: string, body: unknown = {}) => call<Answer>("POST", path, body),
  patch: <Answer>(path: string, body: unknown) => call<Answer>("PATCH", path, body),
  remove: (path: string) => call<undefined>("DELETE", path),
};
