/**
 * What nobody caught, a throw of a timer or a rejected promise, fails the test file that runs, and so do listeners of one event that
 * pile up on one object. tap finds the test that it
 * belongs to by an asynchronous hook, which makes every promise of the process dear: this stands in its place.
 */
import { registerHooks } from 'node:module'
import type { Test } from 'tap'

const HOOK = 'async-hook-domain'
const INERT = 'data:text/javascript,export class Domain { destroy() {} }'

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === HOOK ? { url: INERT, format: 'module', shortCircuit: true } : next(specifier, context),
})

let running: Test | null = null

/** The file to which errors belong from now on. */
export const blame = (t: Test): void => void (running = t)

process.on('uncaughtException', error => {
  if (running === null) throw error
  running.threw(error)
})
process.on('warning', warning => {
  if (warning.name === 'MaxListenersExceededWarning') running?.fail(warning.message, { stack: warning.stack ?? '' })
})
