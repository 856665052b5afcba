import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** A menu of actions. It closes when an item is chosen, and when it loses the focus. */
export function Menu({ label, children }: { label: string; children: ComponentChildren }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const leave = (event: FocusEvent) => {
    const next = event.relatedTarget;
    if (!(next instanceof Node) || !menu.current?.contains(next)) menu.current?.removeAttribute("open");
  };
  return (
    <details ref={menu} class="menu" onFocusOut={leave}>
      <summary aria-label={label} title={label}>
        <Icon name="more" />
      </summary>
      <div role="menu" tabIndex={-1}>
        {children}
      </div>
    </details>
  );
}

export function MenuItem(props: { children: string; danger?: boolean; onClick: () => void }) {
  const choose = ({ currentTarget }: { readonly currentTarget: Element }) => {
    currentTarget.closest("details")?.removeAttribute("open");
    props.onClick();
  };
  return (
    <button type="button" role="menuitem" class={props.danger ? "danger" : ""} onClick={choose}>
      {props.children}
    </button>
  );
}
