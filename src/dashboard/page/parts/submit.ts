import { useState } from "preact/hooks";

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
