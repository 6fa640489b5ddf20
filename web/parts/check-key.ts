/** A form that asks the gateway for the models of a key, and so says whether the key works. */
import { signal } from '@preact/signals'
import type { Child } from '../base/element.ts'
import { button, code, form, h2, li, p, section, span, ul } from '../base/element.ts'
import { scripted, type View } from '../base/page.ts'
import { language, words } from '../base/words.ts'
import { secretField } from './field.ts'

const w = words({
  title: ['检查密钥', 'Check a key'],
  kept: ['密钥只保留在本页，不会被保存。', 'The key stays on this page and is not saved.'],
  key: ['密钥', 'Key'],
  check: ['检查', 'Check'],
  checking: ['正在检查…', 'Checking…'],
  whole: ['请填写完整的密钥，不含空格和换行', 'Enter the whole key, without spaces and line breaks'],
  works: [(count: number) => `密钥有效，可用模型 ${count} 个`, (count: number) => `The key works. Models: ${count}`],
  unreachable: ['没有收到回答，请稍后再试', 'No answer came: try again later'],
})

const TIMEOUT_MS = 15_000

interface Verdict {
  kind: 'good' | 'bad' | 'soft'
  text: string
  models: string[]
}

export function checkKey(): View {
  const key = signal('')
  const shown = signal(false)
  const verdict = signal<Verdict | null>(null)
  const busy = signal(false)
  const check = async () => {
    const secret = key.value.trim()
    if (!/^[!-~]+$/.test(secret)) {
      verdict.value = { kind: 'bad', text: w.whole(), models: [] }
      return
    }
    busy.value = true
    verdict.value = { kind: 'soft', text: w.checking(), models: [] }
    verdict.value = await modelsOf(secret)
    busy.value = false
  }
  return () =>
    section(
      { class: 'panel', 'aria-labelledby': 'check-key' },
      h2({ id: 'check-key' }, w.title()),
      form(
        {
          class: 'line',
          autoComplete: 'off',
          onSubmit: event => {
            event.preventDefault()
            void check()
          },
        },
        secretField({ name: 'secret', label: w.key(), hint: w.kept() }, key, shown, { placeholder: 'sk-…' }),
        button({ type: 'submit', class: 'main', disabled: busy.value || !scripted.value }, w.check()),
      ),
      shownVerdict(verdict.value),
    )
}

const shownVerdict = (verdict: Verdict | null): Child => [
  p({ class: `verdict ${verdict?.kind ?? ''}`, role: 'status', id: 'verdict' }, verdict && span({}, verdict.text)),
  verdict !== null &&
    verdict.models.length > 0 &&
    ul(
      { class: 'names', id: 'models' },
      verdict.models.map(name => li({ key: name }, code({}, name))),
    ),
]

async function modelsOf(key: string): Promise<Verdict> {
  try {
    const response = await fetch('/v1/models?limit=1000', {
      headers: { authorization: `Bearer ${key}`, 'accept-language': language.value === 'zh' ? 'zh-CN' : 'en' },
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const answer = await response.json().catch(() => null)
    if (response.ok && Array.isArray(answer?.data)) {
      const models = (answer.data as { id: unknown }[]).map(model => String(model.id))
      return { kind: 'good', text: w.works(models.length), models }
    }
    return { kind: 'bad', text: `${response.status} ${answer?.error?.message ?? response.statusText}`, models: [] }
  } catch {
    return { kind: 'bad', text: w.unreachable(), models: [] }
  }
}
