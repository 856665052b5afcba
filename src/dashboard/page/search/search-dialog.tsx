import { useEffect, useId, useState } from "preact/hooks";
import type { AccountList } from "../../../admin/accounts/schema.ts";
import type { KeyList } from "../../../admin/key-terms/schema.ts";
import { api, useAnswer, useLoaded } from "../api.ts";
import { useModels } from "../model-list.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { goTo } from "../router.ts";
import { type Found, findAll, type Searched } from "./found.ts";

type Pages = Searched["pages"];

/** Opens the search by `/`, ⌘K or Ctrl+K, unless something is being typed or decided. */
export function Search({ pages }: { pages: Pages }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (!opensSearch(event) || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      setOpen(true);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  return (
    <>
      <Button icon="search" onClick={() => setOpen(true)}>
        Search <kbd>/</kbd>
      </Button>
      {isOpen && <SearchDialog pages={pages} onClose={() => setOpen(false)} />}
    </>
  );
}

function opensSearch({ key, metaKey, ctrlKey, altKey, target }: KeyboardEvent): boolean {
  if (altKey) return false;
  if (metaKey || ctrlKey) return key.toLowerCase() === "k";
  const isTyping = target instanceof Element && target.matches("input, select, textarea");
  return key === "/" && !isTyping;
}

const fewest = 2;
const keysAsked = 5;

function SearchDialog({ pages, onClose }: { pages: Pages; onClose: () => void }) {
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const listId = useId();
  const models = useModels();
  const accounts = useAnswer<AccountList>("/accounts");
  const search = text.trim();
  const keys = useLoaded(`search ${search}`, async () =>
    search.length < fewest ? null : api.get<KeyList>("/keys", { search, limit: keysAsked }),
  );
  const found = findAll(text, {
    pages,
    models: models.value?.data ?? [],
    accounts: accounts.value?.data ?? [],
    keys: search.length < fewest ? [] : (keys.value?.data ?? []),
  });
  const open = (one: Found | undefined) => {
    if (one === undefined) return;
    onClose();
    goTo(one.href);
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
          placeholder="Key, account, model, request id or page"
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
              key={`${one.kind} ${one.href}`}
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
      </div>
    </Dialog>
  );
}
