/** The console's style sheet. No fonts, no images: nothing is loaded from anywhere. */
export const STYLE = `
:root { color-scheme: light dark; --text: #1c2024; --soft: #5b636d; --line: #d5dae0; --paper: #fff; --panel: #f5f7f9;
  --accent: #0b5cad; --good: #14703c; --bad: #b3261e }
@media (prefers-color-scheme: dark) { :root { --text: #e8eaed; --soft: #a3abb5; --line: #3a424c; --paper: #15181c;
  --panel: #1e2329; --accent: #7ab8ff; --good: #74d39a; --bad: #ff9a92 } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 54rem; padding: 1.5rem 1rem 4rem; color: var(--text); background: var(--paper);
  font: 1rem/1.6 system-ui, "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif }
header { display: flex; align-items: center; justify-content: space-between; gap: 1rem }
h1 { font-size: 1.5rem; margin: 0 }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem }
p { margin: .25rem 0 }
.soft { color: var(--soft) }
fieldset { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; margin: 0 }
legend { padding: 0 .25rem; color: var(--soft) }
label.choice { display: block; padding: .15rem 0; overflow-wrap: anywhere }
code, pre, input { font-family: ui-monospace, "SFMono-Regular", Menlo, Consolas, monospace; font-size: .9rem }
.snippet { display: flex; align-items: flex-start; gap: .5rem; margin: .5rem 0 }
pre { flex: 1; min-width: 0; margin: 0; padding: .5rem .75rem; overflow-x: auto; background: var(--panel);
  border: 1px solid var(--line); border-radius: .5rem }
button { font: inherit; font-size: .9rem; color: var(--accent); background: var(--paper); border: 1px solid var(--line);
  border-radius: .4rem; padding: .3rem .7rem; cursor: pointer }
button:hover { border-color: var(--accent) }
button:disabled { cursor: progress; opacity: .6 }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
form { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem; margin: .5rem 0 }
input[type=password] { flex: 1 1 18rem; min-width: 0; padding: .4rem .6rem; color: inherit; background: var(--paper);
  border: 1px solid var(--line); border-radius: .4rem }
.good { color: var(--good) }
.bad { color: var(--bad) }
#models { columns: 16rem; padding-left: 1.2rem; margin: .5rem 0 }
#models li { overflow-wrap: anywhere }
`
