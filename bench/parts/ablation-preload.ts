/** Is loaded before the gateway (`--import`) and leaves out of its source what BENCH_ABLATION names (`ablations.ts`). */
import { registerHooks } from 'node:module'
import { ABLATIONS, ablate } from './ablations.ts'

const ablation = ABLATIONS.find(({ name }) => name === process.env['BENCH_ABLATION'])
if (ablation === undefined) throw new Error(`there is no ablation ${process.env['BENCH_ABLATION']}`)
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    const file = ablation.edits.find(edit => url.endsWith(`/${edit.file}`))?.file
    if (file === undefined) return loaded
    return { ...loaded, source: ablate(ablation, file, String(loaded.source)) }
  },
})
