/** Security: everything by which somebody could get in as the reader. */
import type { View } from '../base/page.ts'
import { notices } from '../parts/notices.ts'
import { providerTold } from '../parts/provider.ts'
import { factorPanel } from './security/factor.ts'
import { identitiesPanel } from './security/identities.ts'
import { passkeysPanel } from './security/passkeys.ts'
import { passwordPanel } from './security/password.ts'
import { sessionsPanel } from './security/sessions.ts'
import { tokensPanel } from './security/tokens.ts'

export default function security(): View {
  const panels = [
    notices(),
    providerTold,
    passwordPanel(),
    passkeysPanel(),
    factorPanel(),
    identitiesPanel(),
    sessionsPanel(),
    tokensPanel(),
  ]
  return () => panels.map(panel => panel())
}
