"""How the page looks, on a screen, a phone and paper; and its script, which opens what is folded before printing."""

STYLE = """
:root { color-scheme: light; --ink: #1d2a33; --soft: #52616b; --line: #d5dde2; --pale: #f3f6f8; --blue: #0072b2;
  --warn: #b34700 }
* { box-sizing: border-box }
html { scroll-behavior: smooth; -webkit-text-size-adjust: 100% }
body { font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", "DejaVu Sans", sans-serif;
  color: var(--ink); background: #fff; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; max-width: 66rem;
  overflow-wrap: anywhere }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .3rem }
h2 { font-size: 1.3rem; line-height: 1.25; margin: 0 0 .6rem }
h3 { font-size: 1.02rem; margin: 1.4rem 0 .3rem }
p { margin: .4rem 0 .8rem; max-width: 48rem }
header { border-bottom: 3px solid var(--blue); padding-bottom: .8rem; margin-bottom: 1.2rem }
header p { color: var(--soft); margin: 0 }
nav { margin: 0 0 1.5rem; font-size: .92rem } nav a { margin: 0 .9rem .3rem 0; display: inline-block }
a { color: var(--blue) }
section { margin: 0 0 2.6rem; padding-top: .4rem }
section + section { border-top: 1px solid var(--line); padding-top: 1.4rem }
.figures { display: flex; flex-wrap: wrap; gap: .7rem; margin: .3rem 0 1rem }
.figures div { background: var(--pale); border-left: 4px solid var(--blue); padding: .45rem .9rem; min-width: 6.6rem }
.figures b { display: block; font-size: 1.45rem; line-height: 1.2; font-variant-numeric: tabular-nums }
.figures span { color: var(--soft); font-size: .86rem }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 21rem), 1fr)); gap: 1.4rem 1.8rem }
figure { margin: 0 0 .6rem; min-width: 0 }
figure img { display: block; max-width: 100%; height: auto }
figure.first img { width: min(100%, 38rem) }
figure.tree { overflow-x: auto } figure.tree img { min-width: 44rem; width: 100% }
figcaption, .note { color: var(--soft); font-size: .88rem; max-width: 44rem }
.wide { overflow-x: auto; margin: .6rem 0 1rem }
table { border-collapse: collapse; font-size: .92rem; width: 100% }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem }
th, td { padding: .35rem .8rem .35rem 0; text-align: left; vertical-align: top; overflow-wrap: break-word }
th { border-bottom: 2px solid var(--line); font-weight: 600 }
tbody tr { border-bottom: 1px solid var(--line) }
.number { text-align: right; font-variant-numeric: tabular-nums }
td .bar { display: inline-block; height: .75rem; background: var(--blue); vertical-align: baseline }
td .bar.minus { background: #fff; border: 2px solid var(--warn) }
td .meter { display: inline-block; width: 7rem; margin-right: .5rem }
.down { color: var(--warn) }
dl { display: grid; grid-template-columns: minmax(9rem, max-content) 1fr; gap: .2rem 1.2rem; margin: .5rem 0 1rem }
dt { color: var(--soft) } dd { margin: 0 }
code, pre { font: .88rem/1.45 ui-monospace, "Liberation Mono", "DejaVu Sans Mono", monospace }
pre { background: var(--pale); padding: .8rem; overflow-x: auto; white-space: pre-wrap }
ul { padding-left: 1.2rem; max-width: 50rem; margin: .4rem 0 1rem } li { margin: .25rem 0 }
details { margin: .6rem 0 } summary { cursor: pointer; color: var(--blue); padding: .25rem 0 }
.warning { border-left: 4px solid var(--warn); background: #fdf3ec; padding: .5rem .9rem; max-width: 50rem }
.state { display: inline-block; padding: 0 .5rem; border: 1px solid currentColor; color: var(--ink); font-weight: 600 }
@media (max-width: 40rem) {
  body { padding: 1rem .9rem 3rem } h1 { font-size: 1.45rem }
  .figures div { flex: 1 1 40% } dl { grid-template-columns: minmax(6rem, 38%) 1fr; gap: .15rem .8rem }
  thead { position: absolute; left: -999rem }
  table, tbody, caption { display: block; width: 100% }
  tr { display: block; border-bottom: 2px solid var(--line); padding: .45rem 0 }
  td { display: grid; grid-template-columns: 7rem minmax(0, 1fr); gap: .6rem; padding: .12rem 0 }
  td:empty, td.number { text-align: left }
  td::before { content: attr(data-label); color: var(--soft); font-size: .86rem }
  td .meter { width: 5rem }
  td:first-child { font-weight: 600 } td:first-child::before { font-weight: 400 }
  .brief td { display: inline-block; padding-right: .9rem } .brief td::before { content: none }
  .brief td:first-child { display: block } .brief td:empty, .brief td > span:empty { display: none }
  .brief td.number::before { content: attr(data-label) " "; }
}
@media print {
  body { font-size: 10.5pt; max-width: none; padding: 0 } nav { display: none }
  figure, tr, .figures { break-inside: avoid } h2, h3, caption { break-after: avoid }
  .bar, .figures div, .warning { print-color-adjust: exact; -webkit-print-color-adjust: exact }
  figure.tree { overflow: visible } figure.tree img { min-width: 0 } a { color: inherit; text-decoration: none }
  .pictures { grid-template-columns: 1fr 1fr }
}
"""
SCRIPT = "addEventListener('beforeprint',()=>document.querySelectorAll('details').forEach(d=>d.open=true));"
