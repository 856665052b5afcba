import { useRef, useState } from "preact/hooks";
import { notify } from "./notices.tsx";

/** Runs one call at a time. A button is disabled only at the next render, and a second click may come before that. */
function useOnce(work: () => Promise<unknown>, onError: (error: Error) => void) {
  const isRunning = useRef(false);
  const [busy, setBusy] = useState(false);
  const start = async () => {
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    await work().catch((cause) => onError(cause instanceof Error ? cause : new Error(String(cause))));
    isRunning.current = false;
    setBusy(false);
  };
  return [busy, start] as const;
}

/** Submits a form. Its error stays until the next submit. */
export function useSubmit(send: () => Promise<unknown>) {
  const [error, setError] = useState<Error | null>(null);
  const [busy, start] = useOnce(() => {
    setError(null);
    return send();
  }, setError);
  const onSubmit = (event: Event) => {
    event.preventDefault();
    return start();
  };
  return { busy, error, onSubmit };
}

/** Runs a button's action, and shows the error if it fails. */
export function useAction(work: () => Promise<unknown>): readonly [busy: boolean, start: () => void] {
  return useOnce(work, ({ message }) => notify(message, "bad"));
}
