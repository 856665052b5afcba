import type { ComponentChildren } from "preact";
import type { LoadState } from "../api.ts";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";

export function Empty(props: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={props.icon} />
      <h2>{props.title}</h2>
      {props.children}
    </div>
  );
}

export function Failure({ error, onRetry }: { error: Error; onRetry?: () => void }) {
  return (
    <div class="callout bad" role="alert">
      <Icon name="warning" />
      <p>{error.message}</p>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

function Loading({ rows }: { rows: number }) {
  return (
    <div class="skeleton stack" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <i key={row} />
      ))}
    </div>
  );
}

/** The loaded value: a skeleton while it loads, and the error if there is no older value. */
export function LoadedContent<Value>(props: {
  loaded: LoadState<Value>;
  rows?: number;
  children: (value: Value) => ComponentChildren;
}) {
  const { value, error, reload } = props.loaded;
  if (value === null) {
    return error ? <Failure error={error} onRetry={reload} /> : <Loading rows={props.rows ?? 6} />;
  }
  return (
    <>
      {error && <Failure error={error} onRetry={reload} />}
      {props.children(value)}
    </>
  );
}
