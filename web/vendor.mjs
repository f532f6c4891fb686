// What the page uses of CodeMirror, as one module: import it from ./vendor/vendor.js.
export { EditorState, StateEffect, StateField } from "@codemirror/state";
export { EditorView, Decoration, MatchDecorator, ViewPlugin, keymap, lineNumbers, drawSelection } from "@codemirror/view";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { lintGutter, setDiagnostics } from "@codemirror/lint";
