import { useState } from "preact/hooks";
import { tell } from "./notices.tsx";

/** Sends a form once at a time. What was wrong with it stays until it is sent again. */
export function useSubmit(send: () => Promise<unknown>) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const onSubmit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    await send().catch((cause) => setError(cause instanceof Error ? cause : new Error(String(cause))));
    setBusy(false);
  };
  return { busy, error, onSubmit };
}

/** Does what a button is for, once at a time. What went wrong is told. */
export function useAction(work: () => Promise<unknown>): readonly [busy: boolean, start: () => void] {
  const [busy, setBusy] = useState(false);
  const start = async () => {
    setBusy(true);
    await work().catch((cause) => tell(cause instanceof Error ? cause.message : String(cause), "bad"));
    setBusy(false);
  };
  return [busy, start];
}
