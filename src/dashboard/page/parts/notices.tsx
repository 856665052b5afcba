import { signal } from "@preact/signals";

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly tone: "good" | "bad";
}

const notices = signal<readonly Notice[]>([]);
let lastId = 0;

/** Shows a short notice, which disappears by itself. */
export function notify(text: string, tone: "good" | "bad" = "good"): void {
  lastId += 1;
  const notice = { id: lastId, text, tone };
  notices.value = [...notices.value, notice];
  setTimeout(() => {
    notices.value = notices.value.filter((other) => other !== notice);
  }, 5000);
}

export function Notices() {
  return (
    <div class="notices stack" aria-live="polite">
      {notices.value.map((notice) => (
        <p key={notice.id} class={notice.tone}>
          {notice.text}
        </p>
      ))}
    </div>
  );
}
