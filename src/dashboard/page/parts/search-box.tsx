import { useEffect, useRef, useState } from "preact/hooks";
import { parameter } from "../router.ts";
import type { State } from "./field.tsx";
import { Icon } from "./icon.tsx";

interface SearchBoxProps {
  readonly label: string;
  readonly placeholder: string;
  /** Holds the text; by default the `search` parameter of the URL. */
  readonly state?: State;
}

const pauseMs = 200;

/** Asks the server when the typing pauses, not at every letter. */
export function SearchBox({
  label,
  placeholder,
  state: [value, onValue] = parameter("search"),
}: SearchBoxProps) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <label class="search">
      <Icon name="search" />
      <input
        type="search"
        aria-label={label}
        value={text}
        placeholder={placeholder}
        spellcheck={false}
        onInput={(event) => {
          const next = event.currentTarget.value;
          setText(next);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => onValue(next.trim()), pauseMs);
        }}
      />
    </label>
  );
}
