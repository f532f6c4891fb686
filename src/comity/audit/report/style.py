"""The report's style sheet. One sheet for screen and paper, in colours that the colour-blind can tell apart."""

CSS = """
:root { --ink: #1d2430; --soft: #5d6878; --line: #dfe3e9; --ground: #f6f7f9; --card: #fff; --good: #2b7a5b;
  --turn: #4b74b8; --gone: #d9962b; --same: #93c4ae; --fault: #b5473c; --none: #8a8f9a; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 15px/1.5 "Inter", "Segoe UI", system-ui,
  "Helvetica Neue", Arial, sans-serif; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
main { max-width: 860px; margin: 0 auto; padding: 40px 24px 56px; }
h1 { font-size: 28px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 0 0 2px; }
p { margin: 0 0 14px; }
.soft, .lead { color: var(--soft); }
.lead { margin-bottom: 22px; }
.badge { display: inline-block; border-radius: 999px; padding: 1px 10px; font-size: 13px; font-weight: 600;
  color: #fff; background: var(--good); vertical-align: 3px; }
.badge.stopped { background: var(--gone); } .badge.cut { background: var(--fault); }
.badge.running { background: var(--turn); }
.warn { border-left: 4px solid var(--fault); background: var(--card); padding: 8px 14px; font-weight: 600; }
.tiles { display: grid; grid-template-columns: repeat(4, 1fr); gap: 12px; margin-bottom: 16px; }
.tile, section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; }
.tile { padding: 12px 16px; }
.tile b { display: block; font-size: 24px; line-height: 1.25; font-weight: 650; font-variant-numeric: tabular-nums; }
.inner { margin: 8px 0 0; }
.tile span { color: var(--soft); font-size: 13px; }
section { padding: 18px 20px; margin-bottom: 16px; }
svg { display: block; width: 100%; height: auto; margin-top: 8px; }
svg text { font: 11px "Inter", "Segoe UI", system-ui, Arial, sans-serif; fill: var(--soft); }
svg text.label { font-size: 12.5px; fill: var(--ink); } svg text.value { font-size: 12px; fill: var(--ink); }
.grid { stroke: var(--line); stroke-width: 1; } .axis { stroke: #9aa3b0; stroke-width: 1; }
.good { fill: var(--good); } .turn { fill: var(--turn); } .gone { fill: var(--gone); } .fault { fill: var(--fault); }
.none { fill: var(--none); } .same { fill: var(--same); }
.key { font-size: 13px; color: var(--soft); margin: 6px 0 0; }
.key svg { display: inline-block; width: 11px; height: 11px; margin: 0 5px 0 14px; vertical-align: -1px; }
.key svg:first-child { margin-left: 0; }
table { width: 100%; border-collapse: collapse; font-size: 13.5px; margin-top: 8px; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 1px solid #b9c0ca; padding: 4px 8px; }
td { border-bottom: 1px solid var(--line); padding: 4px 8px; vertical-align: top; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
td:first-child { min-width: 11em; overflow-wrap: break-word; }
.many { font-size: 12.5px; } .many td, .many th { padding: 4px 0 4px 10px; }
.many td:first-child, .many th:first-child { padding-left: 0; }
small { color: var(--fault); font-size: 0.95em; }
th:first-child, td:first-child { padding-left: 0; } th:last-child, td:last-child { padding-right: 0; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th { vertical-align: bottom; } th.n { white-space: normal; overflow-wrap: normal; }
code { font: 12.5px/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
footer { color: var(--soft); font-size: 12.5px; overflow-wrap: anywhere; }
@media screen and (max-width: 640px) { .tiles { grid-template-columns: repeat(2, 1fr); } main { padding: 24px 12px; }
  .plot svg { min-width: 560px; } section { padding: 14px; } }
@page { size: A4; margin: 14mm 13mm; }
@media print {
  body { background: #fff; font-size: 10.5pt; } main { max-width: none; padding: 0; }
  h1 { font-size: 19pt; } .tile b { font-size: 16pt; } table { font-size: 9.5pt; }
  section { padding: 12px 16px; margin-bottom: 10px; }
  section.whole, .tile, tr { break-inside: avoid; } h2, th { break-after: avoid; }
  .wide { overflow: visible; } .many { font-size: 8pt; } .many td, .many th { padding: 3px 0 3px 6px; }
  thead { display: table-header-group; }
}
"""
