/** Draws the fields of a form, and reads them. Names and values from elsewhere are text, never markup. */

import { type Entered, type Field, type ChoiceField, faultOf, valueOf } from "../form.ts";
import { say } from "../texts.ts";
import { make, setTextOrHide } from "./elements.ts";

export interface FormView {
  readonly root: HTMLElement;
  /** The values; null where something is wrong, which is then said at its field, and the first such field has the focus. */
  read(): Record<string, unknown> | null;
  /** Whether something else stands in the fields than what was given. */
  readonly isChanged: boolean;
  set isEnabled(isEnabled: boolean);
}

interface Control {
  readonly row: HTMLElement;
  /** What takes the focus, and is described by the fault. */
  readonly input: HTMLElement;
  entered(): Entered;
}

let made = 0;

export function makeForm(fields: readonly Field[]): FormView {
  const root = make("fieldset", "fields");
  const rows = fields.map((field) => {
    const control = makeControl(field);
    const fault = make("p", "fault");
    const hint = make("p", "hint");
    hint.dir = "auto";
    hint.id = newId();
    fault.id = newId();
    setTextOrHide(hint, field.hint);
    setTextOrHide(fault, "");
    control.input.setAttribute("aria-describedby", `${hint.id} ${fault.id}`);
    root.append(make("div", "field", control.row, hint, fault));
    const check = (): boolean => {
      const found = faultOf(field, control.entered());
      setTextOrHide(fault, found ? say(found.key, { limit: found.limit }) : "");
      control.input.setAttribute("aria-invalid", String(found !== null));
      return found === null;
    };
    // What was found wrong is looked at again at each change.
    control.row.addEventListener("input", () => fault.hidden || check());
    return { field, control, check };
  });
  return {
    root,
    read() {
      const wrong = rows.filter(({ check }) => !check());
      wrong[0]?.control.input.focus();
      if (wrong.length > 0) return null;
      const values = rows.map(({ field, control }) => [field.name, valueOf(field, control.entered())] as const);
      return Object.fromEntries(values.filter(([, value]) => value !== undefined));
    },
    get isChanged() {
      return rows.some(({ field, control }) => JSON.stringify(control.entered()) !== JSON.stringify(field.given));
    },
    set isEnabled(isEnabled: boolean) {
      root.disabled = !isEnabled;
    },
  };
}

function makeControl(field: Field): Control {
  if (field.kind === "truth") return makeTruth(field.label, field.given);
  if (field.kind === "choice") return field.isMany ? makeMany(field) : makeChoice(field);
  const input = make("input", "");
  input.type = field.kind === "text" ? field.format : "text";
  if (field.kind === "number") input.inputMode = field.isWhole ? "numeric" : "decimal";
  input.dir = "auto";
  input.autocomplete = "off";
  input.value = field.given;
  // A browser empties a date that it cannot read whole.
  const isUnread = (): boolean => input.validity.badInput;
  return { ...labelled(field, input), entered: () => (isUnread() ? "?" : input.value) };
}

function makeTruth(label: string, given: boolean): Control {
  const input = make("input", "");
  input.type = "checkbox";
  input.checked = given;
  return { row: ticked(input, label), input, entered: () => input.checked };
}

function makeChoice(field: ChoiceField): Control {
  const list = make("select", "");
  const [given = -1] = field.given;
  if (given < 0 || !field.isRequired) list.append(new Option(field.isRequired ? "" : say("form.noChoice"), "-1"));
  list.append(...field.choices.map(({ label }, place) => new Option(label, String(place))));
  list.value = String(given);
  return { ...labelled(field, list), entered: () => (list.value === "-1" ? [] : [Number(list.value)]) };
}

function makeMany(field: ChoiceField): Control {
  const group = make("fieldset", "many");
  const boxes = field.choices.map(({ label }, place) => {
    const box = make("input", "");
    box.type = "checkbox";
    box.checked = field.given.includes(place);
    group.append(ticked(box, label));
    return box;
  });
  group.prepend(make("legend", "", labelOf(field)));
  group.tabIndex = -1;
  return { row: group, input: group, entered: () => boxes.flatMap(({ checked }, place) => (checked ? [place] : [])) };
}

function labelled(field: Field, input: HTMLInputElement | HTMLSelectElement): Pick<Control, "row" | "input"> {
  input.required = field.isRequired;
  const name = make("span", "", labelOf(field));
  name.dir = "auto";
  return { row: make("label", "", name, input), input };
}

function labelOf({ label, isRequired }: Field): string {
  return isRequired ? label : say("form.optional", { label });
}

function ticked(box: HTMLInputElement, label: string): HTMLElement {
  const name = make("span", "", label);
  name.dir = "auto";
  return make("label", "tick", box, name);
}

function newId(): string {
  made += 1;
  return `field-${made}`;
}
