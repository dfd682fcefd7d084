/** How `<realtime-voice>` looks. Every value that a page may want to change is a CSS variable. */

export const STYLE = `
:host { display: inline-block; font: var(--voice-font, 1rem/1.4 system-ui, sans-serif); color: var(--voice-text, CanvasText); max-width: 100% }
:host([hidden]) { display: none }
button { display: inline-flex; align-items: center; gap: .6em; padding: .7em 1.2em; font: inherit; font-weight: 600; cursor: pointer;
  color: var(--voice-on-color, #fff); background: var(--voice-color, #1f5fd6); border: 2px solid transparent; border-radius: var(--voice-radius, 999px);
  touch-action: none; user-select: none; -webkit-user-select: none }
.end { margin-inline-start: .5em; color: inherit; background: none; border-color: currentColor }
button[hidden] { display: none }
button:focus-visible { outline: 3px solid var(--voice-focus, Highlight); outline-offset: 3px }
.button[aria-pressed=true] { background: var(--voice-active-color, #a3211b) }
.dot { inline-size: .8em; block-size: .8em; border-radius: 50%; background: currentColor; transform: scale(calc(.6 + .8 * var(--level, 0))) }
.state { margin: .4em .2em 0; font-size: .9em; min-block-size: 1.4em }
.state[data-state=hearing] { color: var(--voice-hearing-color, #0b6b3a) }
.state[data-state=thinking] { color: var(--voice-thinking-color, #7a4b00) }
.state[data-state=speaking] { color: var(--voice-speaking-color, #1f5fd6) }
.error { margin: .4em .2em 0; color: var(--voice-error-color, #a3211b) }
.error:empty, .captions:empty { display: none }
.captions { list-style: none; margin: .6em 0 0; padding: 0; max-block-size: var(--voice-captions-height, 16em); overflow-y: auto }
.captions li { margin: .3em 0; overflow-wrap: anywhere }
.captions .who { font-weight: 600 }
.captions .cut::after { content: " —" }
@media (prefers-color-scheme: dark) {
  .state[data-state=hearing] { color: var(--voice-hearing-color, #7fdca6) }
  .state[data-state=thinking] { color: var(--voice-thinking-color, #ffc66b) }
  .state[data-state=speaking] { color: var(--voice-speaking-color, #9dbdff) }
  .error { color: var(--voice-error-color, #ff9d94) }
}
@media (prefers-reduced-motion: reduce) { .dot { transform: none } }
@media (forced-colors: active) { button { border-color: ButtonText } button[aria-pressed=true] { border-color: Highlight } }
`;
