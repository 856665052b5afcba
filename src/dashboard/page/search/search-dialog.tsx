import { useEffect, useId, useState } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { ask, type DialogProps } from "../parts/dialogs.tsx";
import { goTo } from "../router.ts";
import type { Found } from "./found.ts";

interface SearchProps {
  /** A hook that returns the search results for a text. */
  readonly useFound: (typed: string) => readonly Found[];
  readonly placeholder: string;
}

/** Opens the search by `/`, ⌘K or Ctrl+K, unless something is being typed or decided. */
export function Search(props: SearchProps) {
  const open = ask(SearchDialog, props);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (!opensSearch(event) || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      open();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  return (
    <Button icon="search" onClick={open}>
      Search <kbd>/</kbd>
    </Button>
  );
}

function opensSearch({ key, metaKey, ctrlKey, altKey, target }: KeyboardEvent): boolean {
  if (altKey) return false;
  if (metaKey || ctrlKey) return key.toLowerCase() === "k";
  const isTyping = target instanceof Element && target.matches("input, select, textarea");
  return key === "/" && !isTyping;
}

function SearchDialog({ subject: { useFound, placeholder }, onClose }: DialogProps<SearchProps>) {
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const listId = useId();
  const found = useFound(text);
  useEffect(() => {
    document.getElementById(`${listId}-${active}`)?.scrollIntoView({ block: "nearest" });
  }, [active]);
  const open = (one: Found | undefined) => {
    if (one === undefined) return;
    onClose();
    if (typeof one.target === "string") goTo(one.target);
    else one.target();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 && event.key !== "Enter") return;
    event.preventDefault();
    if (step === 0) open(found[active]);
    else setActive(Math.max(0, Math.min(found.length - 1, active + step)));
  };
  return (
    <Dialog title="Search" onClose={onClose}>
      <div class="body stack">
        <input
          type="text"
          role="combobox"
          aria-label="Search everything"
          aria-expanded="true"
          aria-controls={listId}
          aria-activedescendant={found.length > 0 ? `${listId}-${active}` : undefined}
          autocomplete="off"
          spellcheck={false}
          autofocus
          placeholder={placeholder}
          value={text}
          onInput={({ currentTarget: { value } }) => {
            setText(value);
            setActive(0);
          }}
          onKeyDown={onKeyDown}
        />
        <div id={listId} class="found" role="listbox" aria-label="Found">
          {found.map((one, place) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the text field, which keeps the focus.
            // biome-ignore lint/a11y/useFocusableInteractive: the text field points at it.
            <div
              key={`${one.text} ${one.about}`}
              id={`${listId}-${place}`}
              role="option"
              aria-selected={place === active}
              title={`${one.text}, ${one.about}`}
              onClick={() => open(one)}
            >
              {one.text} <small class="muted">{one.about}</small>
            </div>
          ))}
        </div>
        {found.length === 0 && <p class="muted">Nothing found.</p>}
      </div>
    </Dialog>
  );
}
