import { type ComponentChildren, createContext } from "preact";
import { useContext, useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

const Folding = createContext<() => void>(() => {});

/** What can be done to something. It folds when an item is chosen, and when the focus leaves it. */
export function Menu({ label, children }: { label: string; children: ComponentChildren }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const fold = () => menu.current?.removeAttribute("open");
  const leave = (event: FocusEvent) => {
    const next = event.relatedTarget;
    if (!(next instanceof Node) || !menu.current?.contains(next)) fold();
  };
  return (
    <details ref={menu} class="menu" onFocusOut={leave}>
      <summary aria-label={label}>
        <Icon name="more" />
      </summary>
      <div role="menu" tabIndex={-1}>
        <Folding.Provider value={fold}>{children}</Folding.Provider>
      </div>
    </details>
  );
}

export function MenuItem(props: { children: string; danger?: boolean; onClick: () => void }) {
  const fold = useContext(Folding);
  const choose = () => {
    fold();
    props.onClick();
  };
  return (
    <button type="button" role="menuitem" class={props.danger ? "danger" : ""} onClick={choose}>
      {props.children}
    </button>
  );
}
