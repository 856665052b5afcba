import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon.tsx";

interface ButtonProps {
  readonly children?: ComponentChildren;
  readonly kind?: "primary" | "quiet" | "danger";
  readonly icon?: IconName;
  /** Required if there is no text; also the tooltip. */
  readonly label?: string;
  readonly type?: "button" | "submit";
  readonly busy?: boolean;
  readonly disabled?: boolean;
  readonly onClick?: () => void;
}

export function Button(props: ButtonProps) {
  const bare = props.children === undefined;
  return (
    <button
      type={props.type ?? "button"}
      class={`button ${props.kind ?? ""}${bare ? " bare" : ""}`}
      disabled={props.disabled === true || props.busy === true}
      aria-busy={props.busy}
      aria-label={props.label}
      title={props.label}
      onClick={props.onClick}
    >
      {props.icon && <Icon name={props.icon} />}
      {props.children}
    </button>
  );
}
