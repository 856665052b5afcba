import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "./button.tsx";

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  /** Escape does not close it, because its content is shown only once. */
  readonly stays?: boolean;
}

/** The browser's own dialog: it keeps the focus inside, closes on Escape and then restores the focus. */
export function Dialog({ title, children, onClose, stays = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  // Before anything can be pressed.
  useLayoutEffect(() => element.current?.showModal(), []);
  useLayoutEffect(() => {
    if (!stays) return undefined;
    // Not on the dialog: a key that is pressed while nothing has the focus goes to the page.
    document.addEventListener("keydown", ignoreEscape);
    return () => document.removeEventListener("keydown", ignoreEscape);
  }, [stays]);
  return (
    <dialog ref={element} class="dialog" aria-label={title} onClose={onClose}>
      <header class="line">
        <h2>{title}</h2>
        {!stays && (
          <Button kind="quiet" icon="close" label="Close" onClick={() => element.current?.close()} />
        )}
      </header>
      {children}
    </dialog>
  );
}

function ignoreEscape(event: KeyboardEvent): void {
  if (event.key === "Escape") event.preventDefault();
}
