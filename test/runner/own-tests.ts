/** Lets test files that share a process import a test of their own from `tap`, in the place of the process's root test. */
import { registerHooks } from 'node:module'
import type { Test } from 'tap'

const SCHEME = 'tap-of:'

const tests = new Map<string, Test>()

/** For the module that stands in the place of `tap`. */
export const testOf = (url: string): Test => tests.get(url) as Test

/** What the file at this URL imports from `tap`, from now on. */
export const give = (url: string, t: Test): void => void tests.set(url, t)

/** Our own files are found by their paths alone, as `lib/cli.ts` does it for the program, and for the same reason. */
const OWN = new URL('../..', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    const parent = context.parentURL ?? ''
    if (specifier === 'tap' && tests.has(parent)) return { url: SCHEME + parent, format: 'module', shortCircuit: true }
    const isOwn = specifier.startsWith('.') && specifier.endsWith('.ts') && parent.startsWith(OWN)
    if (!isOwn || parent.includes('/node_modules/')) return next(specifier, context)
    return { url: new URL(specifier, parent).href, format: 'module-typescript', shortCircuit: true }
  },
  load: (url, context, next) =>
    url.startsWith(SCHEME)
      ? { format: 'module', shortCircuit: true, source: sourceOf(url.slice(SCHEME.length)) }
      : next(url, context),
})

const sourceOf = (url: string) =>
  `import { testOf } from ${JSON.stringify(import.meta.url)}\nexport default testOf(${JSON.stringify(url)})`
