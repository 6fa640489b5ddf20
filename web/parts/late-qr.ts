/** A QR code whose code is loaded when the first one is shown: most visits of a page show none. */
import { signal } from '@preact/signals'
import type { Child } from '../base/element.ts'

const loaded = signal<{ qr: typeof import('./qr.ts').qr } | null>(null)
let asked = false

/** Nothing is drawn before the code is there. `name`: what it is, for people who cannot see it. */
export function lateQr(text: string, name: string): Child {
  if (!asked) {
    asked = true
    void import('./qr.ts').then(part => (loaded.value = part))
  }
  return loaded.value?.qr(text, name)
}
