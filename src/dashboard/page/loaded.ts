import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, api, type Query } from "./api.ts";

export interface Loaded<Value> {
  /** Null while there is nothing to show yet; a refresh keeps the old one on the page. */
  readonly value: Value | null;
  readonly error: ApiError | null;
  reload(): void;
}

/**
 * Loads when `name` changes and again every `everyMs`, but not while the tab is hidden. An answer that
 * arrives after a newer question was asked is dropped.
 */
export function useLoaded<Value>(name: string, load: () => Promise<Value>, everyMs = 0): Loaded<Value> {
  const [state, setState] = useState<Omit<Loaded<Value>, "reload">>({ value: null, error: null });
  const latest = useRef(0);
  const loader = useRef(load);
  loader.current = load;

  const reload = useCallback(async () => {
    latest.current += 1;
    const mine = latest.current;
    try {
      const value = await loader.current();
      if (mine === latest.current) setState({ value, error: null });
    } catch (cause) {
      const error = cause instanceof ApiError ? cause : new ApiError(0, "unknown", String(cause));
      if (mine === latest.current) setState(({ value }) => ({ value, error }));
    }
  }, [name]);

  useEffect(() => {
    void reload();
    if (everyMs === 0) return;
    const timer = setInterval(() => {
      if (!document.hidden) void reload();
    }, everyMs);
    return () => clearInterval(timer);
  }, [reload, everyMs]);

  return { ...state, reload: () => void reload() };
}

/** What the API answers to a question, as long as a page asks it. */
export function useAnswer<Answer>(path: string, everyMs = 0, query: Query = {}): Loaded<Answer> {
  return useLoaded(JSON.stringify([path, query]), () => api.get<Answer>(path, query), everyMs);
}
