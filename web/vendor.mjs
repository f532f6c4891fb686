// What the page uses of CodeMirror and uPlot, as one module: import it from ./vendor/vendor.js.
export { EditorState, StateEffect, StateField, RangeSet, Compartment } from "@codemirror/state";
export {
  EditorView, Decoration, GutterMarker, gutter, keymap, lineNumbers, highlightActiveLine, drawSelection, placeholder,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { StreamLanguage, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
export { linter, lintGutter, setDiagnostics, lintKeymap } from "@codemirror/lint";
export { tags } from "@lezer/highlight";
export { default as uPlot } from "uplot";
