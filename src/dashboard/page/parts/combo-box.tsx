import { useId, useRef, useState } from "preact/hooks";
import { matchesOf } from "./combo-matches.ts";
import { type Choice, Field, type LabelProps, type SelectProps } from "./field.tsx";

interface ComboBoxProps extends SelectProps {
  readonly placeholder?: string;
  /** Looks for more choices. */
  onTyped?(text: string): void;
  /** For use without a visible label. */
  readonly "aria-label"?: string;
  readonly id?: string;
}

/** Matches offered at once. */
const maxOffered = 12;

/** A choice among hundreds: typing narrows it down, arrows and Enter choose, and an empty text chooses nothing. */
export function ComboBox({
  state: [value, onValue],
  choices,
  placeholder,
  onTyped,
  ...names
}: ComboBoxProps) {
  const listId = useId();
  const input = useRef<HTMLInputElement>(null);
  /** Null while the list is closed. */
  const [typed, setTyped] = useState<string | null>(null);
  const [active, setActive] = useState(0);
  const shown = choices.find((choice) => choice.value === value)?.text ?? value;
  const matches = typed === null ? [] : matchesOf(choices, typed === shown ? "" : typed);
  const offered = matches.slice(0, maxOffered);

  const close = () => setTyped(null);
  const choose = (choice: Choice | undefined) => {
    if (choice !== undefined) onValue(choice.value);
    close();
  };
  const open = () => {
    setTyped(shown);
    setActive(0);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      if (typed === null) open();
      else setActive(Math.max(0, Math.min(offered.length - 1, active + step)));
    } else if (event.key === "Enter" && typed !== null) {
      event.preventDefault();
      choose(offered[active]);
    } else if (event.key === "Escape" && typed !== null) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  };

  return (
    <div class="combo">
      <input
        {...names}
        ref={input}
        type="text"
        role="combobox"
        aria-expanded={typed !== null}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={offered.length > 0 ? `${listId}-${active}` : undefined}
        autocomplete="off"
        spellcheck={false}
        placeholder={placeholder}
        title={shown === "" ? undefined : shown}
        value={typed ?? shown}
        onFocus={({ currentTarget }) => currentTarget.select()}
        onClick={() => typed === null && open()}
        onInput={({ currentTarget: { value: text } }) => {
          setTyped(text);
          setActive(0);
          onTyped?.(text);
          if (text === "") onValue("");
        }}
        onKeyDown={onKeyDown}
        onBlur={close}
      />
      <div id={listId} role="listbox" aria-label="Matches" hidden={typed === null}>
        {offered.map((choice, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled by the text field, which keeps the focus.
          // biome-ignore lint/a11y/useFocusableInteractive: the text field points at it.
          <div
            key={choice.value}
            id={`${listId}-${place}`}
            role="option"
            aria-selected={place === active}
            title={choice.text}
            // The field must not lose the focus before the click arrives.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(choice)}
          >
            {choice.text}
          </div>
        ))}
        {typed !== null && matches.length === 0 && <small class="combo-note muted">No matches.</small>}
        {matches.length > offered.length && (
          <small class="combo-note muted">{matches.length - offered.length} more: type to find them.</small>
        )}
      </div>
    </div>
  );
}

export function ComboField({ label, hint, ...combo }: LabelProps & ComboBoxProps) {
  return (
    <Field label={label} hint={hint}>
      {(id) => <ComboBox id={id} {...combo} />}
    </Field>
  );
}
