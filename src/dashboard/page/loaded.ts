import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api.ts";

export interface Loaded<Value> {
  readonly value: Value | null;
  readonly error: ApiError | null;
  /** True while there is nothing to show yet; a refresh keeps the old value on the page. */
  readonly loading: boolean;
  reload(): void;
}

/**
 * Loads when `name` changes and again every `everyMs`, but not while the tab is hidden. An answer that
 * arrives after a newer question was asked is dropped.
 */
export function useLoaded<Value>(name: string, load: () => Promise<Value>, everyMs = 0): Loaded<Value> {
  const [state, setState] = useState<{ name: string; value: Value | null; error: ApiError | null }>({
    name,
    value: null,
    error: null,
  });
  const latest = useRef(0);
  const loader = useRef(load);
  loader.current = load;

  const reload = useCallback(async () => {
    latest.current += 1;
    const mine = latest.current;
    try {
      const value = await loader.current();
      if (mine === latest.current) setState({ name, value, error: null });
    } catch (cause) {
      const error = cause instanceof ApiError ? cause : new ApiError(0, "unknown", String(cause));
      if (mine === latest.current) setState((before) => ({ name, value: before.value, error }));
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

  return {
    value: state.value,
    error: state.error,
    loading: state.value === null && state.error === null,
    reload: () => void reload(),
  };
}
