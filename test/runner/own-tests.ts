/** Lets test files that share a process import a test of their own from `tap`, in the place of the process's root test. */
import { registerHooks } from 'node:module'
import type { Test } from 'tap'

const SCHEME = 'tap-of:'

const tests = new Map<string, Test>()

/** For the module that stands in the place of `tap`. */
export const testOf = (url: string): Test => tests.get(url) as Test

/** What the file at this URL imports from `tap`, from now on. */
export const give = (url: string, t: Test): void => void tests.set(url, t)

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'tap' && tests.has(context.parentURL ?? '')
      ? { url: SCHEME + context.parentURL, format: 'module', shortCircuit: true }
      : next(specifier, context),
  load: (url, context, next) =>
    url.startsWith(SCHEME)
      ? { format: 'module', shortCircuit: true, source: sourceOf(url.slice(SCHEME.length)) }
      : next(url, context),
})

const sourceOf = (url: string) =>
  `import { testOf } from ${JSON.stringify(import.meta.url)}\nexport default testOf(${JSON.stringify(url)})`
