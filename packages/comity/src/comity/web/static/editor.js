// <robots-editor>: CodeMirror in a shadow root, so that its styles need no inline <style> in the page.
import {
  EditorState, EditorView, StateEffect, StateField, Decoration, MatchDecorator, ViewPlugin, keymap, lineNumbers,
  drawSelection, defaultKeymap, history, historyKeymap, lintGutter, setDiagnostics,
} from "./vendor/vendor.js";

const look = (name) => Decoration.mark({ class: name });
const looks = { comment: look("comment"), agent: look("agent"), label: look("label"), operator: look("operator") };
const words = new MatchDecorator({ // bounded: a line may be as long as the file
  regexp: /#.*|[*$]|^[ \t]{0,99}[^:#\s][^:#]{0,99}?(?=\s{0,99}:)/g,
  decoration: ([text]) => looks[text[0] === "#" ? "comment" : /^[*$]$/.test(text) ? "operator" : /agent/i.test(text) ? "agent" : "label"],
});
const coloured = ViewPlugin.define((view) => ({
  decorations: words.createDeco(view),
  update(change) { this.decorations = words.updateDeco(change, this.decorations); },
}), { decorations: (each) => each.decorations });

const theme = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--text)" },
  ".cm-scroller": { fontFamily: "ui-monospace, 'SF Mono', Menlo, Consolas, monospace", lineHeight: "1.5" },
  ".cm-gutters": { background: "transparent", color: "var(--soft)", border: "0" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".comment": { color: "var(--soft)", fontStyle: "italic" },
  ".label, .agent": { color: "var(--link)" },
  ".operator": { color: "var(--warn)" },
  ".agent, .operator": { fontWeight: "600" },
  ".deciding": { background: "var(--mark)" },
  ".overridden": { background: "color-mix(in srgb, var(--mark) 35%, transparent)" },
  ".cm-tooltip": { background: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)" },
});

const marked = StateEffect.define();
const marks = StateField.define({
  create: () => Decoration.none,
  update(value, transaction) {
    value = value.map(transaction.changes);
    for (const effect of transaction.effects) if (effect.is(marked)) value = effect.value;
    return value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export class RobotsEditor extends HTMLElement {
  connectedCallback() {
    if (this.view) return;
    const root = this.attachShadow({ mode: "open" });
    this.view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: "",
        extensions: [
          lineNumbers(), history(), drawSelection(), coloured, theme, lintGutter(), marks,
          keymap.of([...defaultKeymap, ...historyKeymap]),
          EditorView.contentAttributes.of({ "aria-label": "robots.txt", spellcheck: "false" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) this.dispatchEvent(new CustomEvent("change"));
          }),
        ],
      }),
    });
    this.view.scrollDOM.tabIndex = 0; // what scrolls can be scrolled by keys
  }

  get value() { return this.view.state.doc.toString(); }
  set value(text) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** Marks the deciding line and those that lost to it, and shows the first. */
  mark(deciding, overridden = []) {
    const lines = this.view.state.doc.lines;
    const at = (line, name) => Decoration.line({ class: name }).range(this.view.state.doc.line(line).from);
    const found = [[deciding, "deciding"], ...overridden.map((line) => [line, "overridden"])]
      .filter(([line]) => line && line <= lines).sort((a, b) => a[0] - b[0]).map(([line, name]) => at(line, name));
    this.view.dispatch({ effects: marked.of(Decoration.set(found, true)) });
  }

  /** Scrolls to a line and leaves the focus where it is. */
  reveal(line) {
    if (line && line <= this.view.state.doc.lines) this.view.dispatch({ effects: EditorView.scrollIntoView(this.view.state.doc.line(line).from, { y: "center" }) });
  }

  /** Writes another text by changing only what differs, so that a step back takes away only that. */
  patch(text) {
    const old = this.value;
    let from = 0, end = 0;
    while (from < old.length && old[from] === text[from]) from++;
    while (end < Math.min(old.length, text.length) - from && old.at(-1 - end) === text.at(-1 - end)) end++;
    this.view.dispatch({ changes: { from, to: old.length - end, insert: text.slice(from, text.length - end) }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  }

  show(line) {
    if (!line || line > this.view.state.doc.lines) return;
    const place = this.view.state.doc.line(line).from;
    this.view.dispatch({ selection: { anchor: place }, effects: EditorView.scrollIntoView(place, { y: "center" }) });
    this.view.focus(); // to be changed
  }

  /** Findings in the margin; a finding with a replacement can be applied there. */
  annotate(findings, apply) {
    const doc = this.view.state.doc;
    const diagnostics = findings.filter((each) => each.line >= 1 && each.line <= doc.lines).map((each) => {
      const line = doc.line(each.line);
      return {
        from: line.from, to: line.to, severity: each.severity, message: `${each.message} [${each.code}]`,
        actions: each.replacement === null ? [] : [{ name: "Fix", apply: () => apply(each) }],
      };
    });
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  /** Replaces one line by one or several, or deletes it where there are none. */
  replace(number, text) {
    const line = this.view.state.doc.line(number);
    const end = text === "" ? Math.min(line.to + 1, this.view.state.doc.length) : line.to;
    this.view.dispatch({ changes: { from: line.from, to: end, insert: text } });
  }
}
customElements.define("robots-editor", RobotsEditor);
