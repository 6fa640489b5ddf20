/** The first file of the program, started by `bin/gateway`: it finds our modules fast, and begins what the command line names. */
import { flushCompileCache, registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { SUPERVISED, supervise } from './process/supervise.ts'

/**
 * Our own files, and those of some packages, import each other by the paths of files that are there. Node would ask the file system for
 * each such path whether it is a link and of what kind it is, which takes a tenth of the time of a start.
 */
const EXTENSION = import.meta.filename.slice(-'.ts'.length)
const FORMAT = EXTENSION === '.ts' ? 'module-typescript' : 'module'
const PLAIN = [
  { folder: new URL('.', import.meta.url).href, extension: EXTENSION, format: FORMAT },
  { folder: '/node_modules/zod/v4/', extension: '.js', format: 'module' },
  { folder: '/node_modules/yaml/dist/', extension: '.js', format: 'commonjs' },
]
/** zod's messages in sixty languages, of which nothing uses any: the English ones are imported by themselves. */
const TRANSLATIONS = '../locales/index.js'

registerHooks({
  resolve(specifier, context, next) {
    const parent = context.parentURL ?? ''
    const plain = specifier.startsWith('.')
      ? PLAIN.find(({ folder, extension }) => specifier.endsWith(extension) && parent.includes(folder))
      : undefined
    if (plain === undefined) return next(specifier, context)
    const url = specifier === TRANSLATIONS ? 'data:text/javascript,' : new URL(specifier, parent).href
    return { url, format: plain.format, shortCircuit: true }
  },
})

// what the gateway writes, the books and journals among it, is for its own user only
process.umask(0o077)
const args = process.argv.slice(2)
if (args[0] === 'serve' && process.env[SUPERVISED] === undefined) supervise(args)
await run()
flushCompileCache() // Node does this at the end of a process, but a gateway may be killed

async function run(): Promise<void> {
  const { isPlainServe, runServe } = await import('./cli/serve.ts')
  if (isPlainServe(args)) await runServe(args)
  else await (await import('./cli/run.ts')).runCommand(args, fileURLToPath(new URL('..', import.meta.url)))
}
