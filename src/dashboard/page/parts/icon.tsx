/** Line drawings on a 20 × 20 grid; they take the colour of the text around them. */
const paths = {
  overview: "M3 16V9m4.7 7V4m4.6 12v-5m4.7 5V7",
  keys: "M12.5 3.5a4 4 0 1 1-3.3 6.3L3.5 15.5V17H6v-2h2v-2l1.6-1.7M13.5 6.5h.01",
  accounts: "M3 6.5h14v10H3zm0 0L13.5 3v3.5m.5 5h.01",
  models: "M10 2.5 17 6.3v7.4l-7 3.8-7-3.8V6.3zM3 6.3l7 3.8 7-3.8M10 10.1v7.4",
  exchanges: "M3.5 7h12m-3.5-3.5L15.5 7 12 10.5M16.5 13h-12m3.5-3.5L4.5 13 8 16.5",
  batches: "M4 3.5h12v3.5H4zM4 9h12v3.5H4zM6 16.5h8",
  usage: "M10 3v7h7a7 7 0 1 1-7-7m3 .6a7 7 0 0 1 3.4 3.4H13z",
  reconcile: "M5 2.5h10v15l-2.5-2-2.5 2-2.5-2-2.5 2zM7.5 7h5M7.5 10.5h5",
  playground: "M5 3.5v13l11-6.5z",
  tail: "M2.5 10h3l2-5.5 4 11 2-5.5h4",
  settings: "M3 6h8m4 0h2M3 14h2m4 0h8M13 4v4M7 12v4",
  copy: "M7 7V3.5h9.5V13H13M3.5 7H13v9.5H3.5z",
  check: "m4 10.5 4 4 8-9",
  download: "M10 3v9m-4-4 4 4 4-4M4 16.5h12",
  close: "m5 5 10 10M15 5 5 15",
  plus: "M10 4v12M4 10h12",
  search: "M9 3.5a5.5 5.5 0 1 1 0 11 5.5 5.5 0 0 1 0-11m4 9.5 3.5 3.5",
  more: "M4.5 10h.01M10 10h.01M15.5 10h.01",
  back: "M12.5 4.5 7 10l5.5 5.5",
  light:
    "M10 6.5a3.5 3.5 0 1 1 0 7 3.5 3.5 0 0 1 0-7M10 2v1.5m0 13V18m8-8h-1.5m-13 0H2m13.7-5.7-1.1 1.1m-9.2 9.2-1.1 1.1m11.4 0-1.1-1.1M5.4 5.4 4.3 4.3",
  dark: "M16.5 11.8A6.8 6.8 0 0 1 8.2 3.5a6.8 6.8 0 1 0 8.3 8.3",
  system: "M3 4h14v9.5H3zm5 13h4m-2-3.5V17",
  "sign-out": "M12 6V3.5H4v13h8V14m-4-4h9m-3-3 3 3-3 3",
  clock: "M10 3a7 7 0 1 1 0 14 7 7 0 0 1 0-14m0 3v4l3 2",
  stop: "M5.5 5.5h9v9h-9z",
  menu: "M3 5.5h14M3 10h14M3 14.5h14",
  warning: "M10 3 17.5 16.5h-15zM10 8v4m0 2.2v.01",
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  );
}

export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
      <rect x="4" y="3" width="24" height="11" rx="3" />
      <path
        fill="none"
        stroke-width="2.6"
        stroke-linecap="round"
        d="M4 20c4 0 4 3 8 3s4-3 8-3 4 3 8 3M4 26c4 0 4 3 8 3s4-3 8-3 4 3 8 3"
      />
    </svg>
  );
}
