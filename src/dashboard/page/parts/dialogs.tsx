import { effect, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { session } from "../api.ts";
import { path, query, setQuery } from "../router.ts";

export interface DialogProps<Subject> {
  readonly subject: Subject;
  readonly onClose: () => void;
}

type DialogComponent<Subject> = (props: DialogProps<Subject>) => ComponentChildren;

const open = signal<ComponentChildren>(null);

// Another page closes what was asked on this one.
effect(() => {
  path.value;
  close();
});

/** Outside of every list, because a row can be gone while its dialog shows a secret. */
export function OpenDialog() {
  useEffect(() => close, []);
  return <>{open.value}</>;
}

export function ask<Subject>(Component: DialogComponent<Subject>, subject: Subject): () => void {
  return () => {
    open.value = <Component subject={subject} onClose={close} />;
  };
}

function close(): void {
  open.value = null;
}

/** Opens the dialog of this name if the address asks for it with `do`, as the search does, once it can be opened. */
export function useAsked(name: string, openDialog: () => void, isReady = true): void {
  const isAsked = isReady && session.value?.role === "admin" && query.value.get("do") === name;
  useEffect(() => {
    if (!isAsked) return;
    setQuery({ do: null });
    openDialog();
  }, [isAsked]);
}
