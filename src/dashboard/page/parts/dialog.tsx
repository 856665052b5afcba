import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Button } from "./button.tsx";

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
  /** What it shows is shown once, so that Escape does not close it. */
  readonly stays?: boolean;
}

/** The browser's own dialog: it keeps the focus inside, closes on Escape and gives the focus back. */
export function Dialog({ title, children, onClose, stays = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-label={title}
      onClose={onClose}
      onKeyDown={(event) => {
        if (stays && event.key === "Escape") event.preventDefault();
      }}
    >
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
