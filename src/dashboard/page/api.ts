import { signal } from "@preact/signals";
import type { ErrorView, SessionView } from "../../admin/views.ts";

export const apiBase = "/admin/api/v1";

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

async function call<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  const response = await fetch(apiBase + path, {
    method,
    credentials: "same-origin",
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  }).catch(() => {
    throw new ApiError(0, "unreachable", "The gateway cannot be reached. Is it running?");
  });
  if (!response.ok) {
    if (response.status === 401 && session.value?.signed_in) {
      session.value = { ...nobody, oidc: session.value.oidc };
    }
    throw await refusal(response);
  }
  return response.status === 204 ? (undefined as Answer) : await response.json();
}

export const api = {
  get: <Answer>(path: string, query: Query = {}) => call<Answer>("GET", pathWith(path, query)),
  post: <Answer>(path: string, body: unknown = {}) => call<Answer>("POST", path, body),
  patch: <Answer>(path: string, body: unknown) => call<Answer>("PATCH", path, body),
  remove: (path: string) => call<undefined>("DELETE", path),
};
