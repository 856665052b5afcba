import { signal } from "@preact/signals";
import type { ErrorView } from "../../admin/views.ts";

export const apiBase = "/admin/api/v1";

/** Null until the server has been asked. Any answer of 401 sets it to false, which brings the sign-in page. */
export const signedIn = signal<boolean | null>(null);

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
    if (response.status === 401) signedIn.value = false;
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
