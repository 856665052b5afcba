import { signal } from "@preact/signals";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import type { EndedSessionView, SessionView } from "../../admin/auth/schema.ts";
import type { ErrorView } from "../../admin/formats/shapes.ts";
import { adminBase, memberBase } from "../../base/requests/admin-base.ts";
import { isSelfServicePage } from "./router.ts";

/** A proxy may pass the self-service page on, and nothing of the admin API. */
const ownBase = isSelfServicePage ? memberBase : adminBase;

/** The key that was pasted instead of signing in. It is kept in memory, so a page reload forgets it. */
export const shownKey = signal<string | null>(null);

/** Who is signed in; null until the server has responded. Any 401 shows the sign-in page. */
export const session = signal<SessionView | null>(null);

const signedOut: SessionView = {
  signed_in: false,
  name: null,
  role: null,
  may_create_keys: false,
  new_key: null,
  reads_content: false,
  oidc: false,
};

export async function askWhoIsSignedIn(): Promise<void> {
  session.value = await call<SessionView>("GET", "/session").catch(() => signedOut);
}

/** An error of the server, with its message. */
export class ApiError extends Error {
  readonly status: number;
  /** The delay requested by the server; null if a retry does not help. */
  readonly retryAfterMs: number | null;

  constructor(message: string, { status, headers }: Response) {
    super(message);
    this.status = status;
    this.retryAfterMs = status === 429 ? Number(headers.get("retry-after") ?? 1) * 1000 : null;
  }
}

/** Retries after the delay that the server requests. Rejects with any other error. */
export async function retryWhenLimited<Answer>(send: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      const waitMs = error instanceof ApiError ? error.retryAfterMs : null;
      if (waitMs === null) throw error;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  }
}

export type Query = Readonly<Record<string, string | number | null | undefined>>;

function pathWith(path: string, query: Query): string {
  const present = Object.entries(query).filter(([, value]) => value != null && value !== "");
  const search = new URLSearchParams(present.map(([name, value]) => [name, String(value)]));
  return search.size === 0 ? path : `${path}?${search}`;
}

/** Shows the page of a key. Throws the server's error. */
export async function showKey(secret: string): Promise<void> {
  await call("GET", "/keys", undefined, secret);
  shownKey.value = secret;
}

/** How many changes this page has made. What is shown is loaded again after each. */
const changes = signal(0);

async function change<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
  try {
    return await call<Answer>(method, path, body);
  } finally {
    // A rejection usually means that something was changed elsewhere in the meantime.
    changes.value += 1;
  }
}

async function call<Answer>(
  method: string,
  path: string,
  body?: unknown,
  secret = shownKey.value,
): Promise<Answer> {
  const response = await fetch((secret === null ? ownBase : memberBase) + path, {
    method,
    credentials: secret === null ? "same-origin" : "omit",
    headers: {
      ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch(() => {
    throw new Error("The gateway cannot be reached. Is it running?");
  });
  if (!response.ok) {
    if (response.status === 401) {
      shownKey.value = null;
      if (session.value?.signed_in) session.value = { ...signedOut, oidc: session.value.oidc };
    }
    const refusal: Partial<ErrorView> | null = await response.json().catch(() => null);
    throw new ApiError(refusal?.error?.message ?? `The server responded with ${response.status}.`, response);
  }
  return response.status === 204 ? (undefined as Answer) : await response.json();
}

export async function signOut(): Promise<void> {
  const ended =
    shownKey.value === null ? await call<EndedSessionView>("DELETE", "/session").catch(() => null) : null;
  shownKey.value = null;
  if (ended?.sign_out_url) return location.assign(ended.sign_out_url);
  await askWhoIsSignedIn();
}

export const api = {
  get: <Answer>(path: string, query: Query = {}) => call<Answer>("GET", pathWith(path, query)),
  post: <Answer>(path: string, body: unknown = {}) => change<Answer>("POST", path, body),
  patch: <Answer>(path: string, body: unknown) => change<Answer>("PATCH", path, body),
  remove: (path: string) => change<undefined>("DELETE", path),
};

export interface LoadState<Value> {
  /** Null until the first response; a refresh keeps the old value. */
  readonly value: Value | null;
  readonly error: Error | null;
  reload(): void;
}

/** Number of page parts that wait for their first response. */
export const firstLoads = signal(0);

/**
 * Loads when `name` changes, after a change, and every `everyMs`, but not while the tab is hidden. A response to an
 * outdated request is dropped. A report that is limited is loaded when the server says.
 */
export function useLoaded<Value>(name: string, load: () => Promise<Value>, everyMs = 0): LoadState<Value> {
  const [state, setState] = useState<Omit<LoadState<Value>, "reload">>({ value: null, error: null });
  const latest = useRef(0);
  const arrived = useRef(() => {});
  const loader = useRef(load);
  loader.current = load;

  const reload = useCallback(async () => {
    latest.current += 1;
    const requestNumber = latest.current;
    try {
      const value = await loader.current();
      if (requestNumber === latest.current) setState({ value, error: null });
    } catch (cause) {
      const error = cause instanceof Error ? cause : new Error(String(cause));
      if (requestNumber !== latest.current) return;
      setState(({ value }) => ({ value, error }));
      const waitMs = error instanceof ApiError ? error.retryAfterMs : null;
      if (waitMs !== null) setTimeout(() => requestNumber === latest.current && reload(), waitMs);
    } finally {
      arrived.current();
    }
  }, [name]);

  useEffect(() => {
    if (latest.current > 0) return undefined;
    firstLoads.value += 1;
    let isWaiting = true;
    const arrive = () => {
      if (isWaiting) firstLoads.value -= 1;
      isWaiting = false;
    };
    arrived.current = arrive;
    return () => {
      latest.current += 1;
      arrive();
    };
  }, []);

  useEffect(() => {
    void reload();
    if (everyMs === 0) return;
    const timer = setInterval(() => {
      if (!document.hidden) void reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [reload, everyMs, changes.value]);

  return { ...state, reload: () => void reload() };
}

/** The response of the API to a GET, refreshed while the page is open. */
export function useAnswer<Answer>(path: string, everyMs = 0, query: Query = {}): LoadState<Answer> {
  return useLoaded(JSON.stringify([path, query]), () => api.get<Answer>(path, query), everyMs);
}
