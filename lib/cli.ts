/** The first file of the program, started by `bin/gateway`: `serve` begins as a supervisor, every other command runs at once. */
import { flushCompileCache, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { SUPERVISED, supervise } from './process/supervise.ts'

/**
 * The folder of our own files. They and those of zod import each other by the paths of files that are there. Node would ask the file
 * system for each such path whether it is a link and of what kind it is, which takes a twentieth of the time of a start and more.
 */
const OWN = new URL('.', import.meta.url).href
const EXTENSION = import.meta.filename.slice(-'.ts'.length)
const FORMAT = EXTENSION === '.ts' ? 'module-typescript' : 'module'
const ZOD = '/node_modules/zod/v4/'
/** zod's messages in sixty languages, of which nothing uses any: the English ones are imported by themselves. */
const TRANSLATIONS = '../locales/index.js'

registerHooks({
  resolve(specifier, context, next) {
    const { parentURL } = context
    if (parentURL === undefined || !specifier.startsWith('.')) return next(specifier, context)
    const found = (format: string) => ({ url: new URL(specifier, parentURL).href, format, shortCircuit: true })
    if (specifier.endsWith(EXTENSION) && parentURL.startsWith(OWN)) return found(FORMAT)
    if (!specifier.endsWith('.js') || !parentURL.includes(ZOD)) return next(specifier, context)
    return specifier === TRANSLATIONS ? { ...found('module'), url: 'data:text/javascript,' } : found('module')
  },
})

// what the gateway writes, the books and journals among it, is for its own user only
process.umask(0o077)
const args = process.argv.slice(2)
if (args[0] === 'serve' && process.env[SUPERVISED] === undefined) supervise(args)
else await run()
flushCompileCache() // Node does this at the end of a process, but a gateway may be killed

async function run(): Promise<void> {
  const { isPlainServe, runServe } = await import('./cli/serve.ts')
  if (isPlainServe(args)) await runServe(args)
  else await (await import('./cli/run.ts')).runCommand(args, fileURLToPath(new URL('..', import.meta.url)))
}
