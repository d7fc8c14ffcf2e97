;;; sould-hunks.el --- Hunks to review, shown in the buffers they are in  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Draws what is pending in a buffer: added lines have a face and a sign in the margin, removed ones are shown above them.  No text
;; is ever put into the buffer for that.  A hunk is drawn only where the buffer holds its lines; while the user types, overlays move
;; with the text, until the server says what has become of them.

;;; Code:

(require 'diff-mode)
(require 'sould-sight)
(require 'sould-sync)
(require 'sould-words)

(defface sould-added '((t :inherit diff-added :extend t))
  "Lines that an agent wrote."
  :group 'sould)
(defface sould-removed '((t :inherit diff-removed :extend t))
  "Lines that an agent took away."
  :group 'sould)
(defface sould-added-word
  '((((min-colors 88) (background dark)) :background "#2d7a3c" :foreground "#ffffff")
    (t :inherit diff-refine-added))
  "Words that an agent wrote in a line that was there."
  :group 'sould)
(defface sould-removed-word
  '((((min-colors 88) (background dark)) :background "#8f3a3a" :foreground "#ffffff")
    (t :inherit diff-refine-removed))
  "Words that an agent took out of a line."
  :group 'sould)
(defface sould-yours '((t :inherit diff-changed :extend t))
  "Lines of the user's inside a hunk."
  :group 'sould)
(defface sould-note '((t :inherit (italic shadow) :extend t))
  "What happened to a file as a whole, and what is about to be written."
  :group 'sould)
(defface sould-added-sign
  '((((min-colors 88) (background dark)) :inherit sould-added :foreground "#8ce99a" :weight bold)
    (t :inherit (diff-indicator-added sould-added) :weight bold))
  "The sign in the margin beside added lines."
  :group 'sould)
(defface sould-removed-sign
  '((((min-colors 88) (background dark)) :inherit sould-removed :foreground "#ffa8a8" :weight bold)
    (t :inherit (diff-indicator-removed sould-removed) :weight bold))
  "The sign in the margin beside removed lines."
  :group 'sould)

(defcustom sould-mark-words t
  "Whether words that differ are marked in lines that became others."
  :type 'boolean
  :group 'sould)

(defvar-local sould-hunks--overlays nil "All overlays of this buffer's hunks.")
(defvar-local sould-hunks--words nil "Which words to mark, by the digests of the hunks that are drawn.")
(defvar-local sould-hunks--margin nil "Whether the margin is shown for our sake.")
(defvar-local sould-hunks-count 0 "How many hunks are pending in this buffer.")

;;;; What is where

(defun sould-hunks--file ()
  "What the server said last of the current buffer's file."
  (when sould-sync--project
    (sould-project-file sould-sync--project sould-sync--path)))

(defun sould-hunks-here ()
  "What is pending in the current buffer, as the server said it last."
  (plist-get (sould-hunks--file) :hunks))

(defun sould-hunks-drawn ()
  "The overlays of the current buffer that stand for a hunk, from the top."
  (sort (seq-filter (lambda (overlay) (and (overlay-buffer overlay) (overlay-get overlay 'sould-hunk))) sould-hunks--overlays)
        (lambda (one other)
          (if (= (overlay-start one) (overlay-start other))
              (< (overlay-end one) (overlay-end other))
            (< (overlay-start one) (overlay-start other))))))

(defun sould-hunks-between (begin end)
  "The overlays of hunks that touch the lines from BEGIN to END."
  (save-excursion
    (let ((first (progn (goto-char begin) (line-beginning-position)))
          (last (progn (goto-char end) (line-end-position))))
      (seq-filter (lambda (overlay)
                    (and (<= (overlay-start overlay) last)
                         (if (= (overlay-start overlay) (overlay-end overlay))
                             (>= (overlay-start overlay) first)
                           (> (overlay-end overlay) first))))
                  (sould-hunks-drawn)))))

;;;; Drawing

(defun sould-hunks-redraw ()
  "Draw what is pending in the current buffer.
Hunks whose lines the buffer does not hold stay as they were drawn: it
was typed in since, and the server will say what they are."
  (let* ((hunks (sould-hunks-here))
         (fitting (seq-filter #'sould-hunks--fits-p hunks))
         (waiting (mapcar (lambda (hunk) (plist-get hunk :id)) (seq-difference hunks fitting #'eq))))
    (setq sould-hunks-count (length hunks))
    (setq sould-hunks--overlays
          (seq-filter (lambda (overlay)
                        (or (memq (overlay-get overlay 'sould-id) waiting)
                            (delete-overlay overlay)))
                      sould-hunks--overlays))
    (mapc #'sould-hunks--draw fitting)
    (setq sould-hunks--words (seq-filter (lambda (each) (seq-some (lambda (hunk) (equal (plist-get hunk :digest) (car each)))
                                                                  fitting))
                                         sould-hunks--words))
    (mapc #'sould-hunks--draw-coming (plist-get (sould-hunks--file) :streaming))
    (sould-hunks--show-margin)
    (force-mode-line-update)))

(defun sould-hunks-clear ()
  "Show nothing in the current buffer."
  (mapc #'delete-overlay sould-hunks--overlays)
  (setq sould-hunks--overlays nil sould-hunks-count 0)
  (sould-hunks--show-margin))

(defun sould-hunks--text (hunk)
  "The current lines of HUNK with the line ends of a buffer."
  (let ((text (mapconcat (lambda (line) (plist-get line :text)) (plist-get hunk :lines) "")))
    (if (sould-sync--dos-p) (string-replace "\r\n" "\n" text) text)))

(defun sould-hunks--line (number)
  "The place where line NUMBER, counted from 0, begins."
  (save-excursion
    (goto-char (point-min))
    (forward-line number)
    (point)))

(defun sould-hunks--fits-p (hunk)
  "Whether the lines of HUNK are in their place in the current buffer."
  (save-restriction
    (widen)
    (or (not (equal (plist-get hunk :kind) "text"))
        (let* ((text (sould-hunks--text hunk))
               (begin (sould-hunks--line (plist-get hunk :start)))
               (end (+ begin (length text))))
          (and (<= end (point-max))
               (string= text (buffer-substring-no-properties begin end)))))))

(defun sould-hunks--add (hunk begin end &rest properties)
  "Put an overlay for HUNK from BEGIN to END, with PROPERTIES."
  (let ((overlay (make-overlay begin end nil nil nil)))
    (overlay-put overlay 'sould-id (plist-get hunk :id))
    (while properties
      (overlay-put overlay (pop properties) (pop properties)))
    (push overlay sould-hunks--overlays)
    overlay))

(defun sould-hunks--draw (hunk)
  "Draw HUNK, which fits."
  (save-restriction
    (widen)
    (if (equal (plist-get hunk :kind) "text")
        (sould-hunks--draw-lines hunk)
      (sould-hunks--add hunk (point-min) (point-min) 'sould-hunk hunk 'before-string
                        (propertize (concat (sould-hunks-note hunk) "\n") 'face 'sould-note)))))

(defun sould-hunks--draw-lines (hunk)
  "Draw HUNK, which is about lines."
  (let* ((begin (sould-hunks--line (plist-get hunk :start)))
         (text (sould-hunks--text hunk))
         (end (+ begin (length text)))
         (base (mapcar (lambda (line) (string-replace "\r" "" line)) (plist-get hunk :base)))
         (words (sould-hunks--marks hunk base))
         (removed (sould-hunks--removed base (car words)))
         (first (car (plist-get hunk :lines)))
         (marks (cdr words))
         ;; Behind a last line without an end there is no line to stand above.
         (below (and (= begin end (point-max)) (/= begin (point-min)) (/= (char-before begin) ?\n))))
    (sould-hunks--add hunk begin end
                      'sould-hunk hunk
                      'before-string (concat (if below (concat "\n" (string-remove-suffix "\n" removed)) removed)
                                             (when first (sould-hunks--line-sign first))))
    (save-excursion
      (goto-char begin)
      (dolist (line (plist-get hunk :lines))
        (sould-hunks--draw-line hunk line (pop marks) (eq line first))))))

(defun sould-hunks--marks (hunk base)
  "Which words to mark in HUNK, whose removed lines are BASE."
  (let ((digest (plist-get hunk :digest)))
    (or (cdr (assoc digest sould-hunks--words))
        (let ((marks (and sould-mark-words
                          (sould-words-marks base (mapcar (lambda (line) (plist-get line :text)) (plist-get hunk :lines))))))
          (push (cons digest marks) sould-hunks--words)
          marks))))

(defun sould-hunks--draw-line (hunk line marks signed)
  "Draw LINE of HUNK at point, and go behind it.
MARKS are its words to mark.  SIGNED: it has its sign already."
  (let ((begin (point)) (author (plist-get line :author)))
    (forward-line 1)
    (sould-hunks--add hunk begin (point)
                      'face (if (equal author "user") 'sould-yours 'sould-added)
                      'priority 1
                      'before-string (unless signed (sould-hunks--line-sign line)))
    (pcase-dolist (`(,from . ,to) marks)
      (sould-hunks--add hunk (+ begin from) (min (+ begin to) (point)) 'face 'sould-added-word 'priority 2))))

(defun sould-hunks--draw-coming (hunk)
  "Show the lines of HUNK, which an agent is about to write.
They stand below those that they will replace."
  (save-restriction
    (widen)
    (let ((place (sould-hunks--line (+ (plist-get hunk :start) (length (plist-get hunk :base))))))
      (sould-hunks--add hunk place place 'before-string
                        (mapconcat (lambda (line)
                                     (concat (sould-hunks--sign "?" 'sould-note)
                                             (propertize (concat (string-trim-right (plist-get line :text) "[\r\n]+") "\n")
                                                         'face 'sould-note)))
                                   (plist-get hunk :lines) "")))))

(defun sould-hunks--removed (base marks)
  "The lines BASE as they are shown above a hunk.
MARKS are their words to mark."
  (mapconcat (lambda (line)
               (let ((shown (concat (string-remove-suffix "\n" line) "\n")))
                 (add-face-text-property 0 (length shown) 'sould-removed t shown)
                 (pcase-dolist (`(,from . ,to) (pop marks))
                   (add-face-text-property from (min to (1- (length shown))) 'sould-removed-word nil shown))
                 (concat (sould-hunks--sign "-" 'sould-removed-sign) shown)))
             base ""))

(defun sould-hunks--line-sign (line)
  "The sign of LINE, which is in the buffer."
  (sould-hunks--sign (if (equal (plist-get line :author) "agent") "+" "~") 'sould-added-sign))

(defun sould-hunks--sign (sign face)
  "SIGN with FACE, to be shown in the margin."
  (propertize " " 'display `((margin left-margin) ,(propertize sign 'face face))))

(defun sould-hunks-by (hunk)
  "Which agents of others, that use sould's tools, had a part in HUNK: \", by NAME\"."
  (let ((names (mapcar (lambda (agent)
                         (let ((session (plist-get agent :sessionId)))
                           (when (string-prefix-p "mcp:" session)
                             (sould-sight-line (substring session (length "mcp:"))))))
                       (plist-get hunk :agents))))
    (mapconcat (lambda (name) (concat ", by " name)) (delete-dups (delq nil names)) "")))

(defun sould-hunks-note (hunk)
  "What HUNK, which is not about lines, did to its file."
  (let ((before (plist-get hunk :before)) (after (plist-get hunk :after)))
    (pcase (plist-get hunk :kind)
      ("add" "sould: a new file")
      ("delete" "sould: this file was deleted")
      ("rename" (format "sould: renamed from %s"
                        (sould-sight-line (file-relative-name before (file-name-directory (plist-get hunk :path))))))
      ("mode" (format "sould: its mode was %s and is %s" before after))
      ("line_ends" (format "sould: its line ends were %s and are %s" before after))
      (_ "sould: its contents are others"))))

;;;; The margin

(defun sould-hunks--show-margin ()
  "Have a margin for signs while there are hunks in the current buffer."
  (let ((wanted (and sould-hunks--overlays t)))
    (unless (eq wanted sould-hunks--margin)
      (setq sould-hunks--margin wanted
            left-margin-width (max 0 (+ (or left-margin-width 0) (if wanted 1 -1))))
      (dolist (window (get-buffer-window-list nil nil t))
        (set-window-margins window left-margin-width (cdr (window-margins window)))))))

;;;; Following the server

(defun sould-hunks--changed (project paths)
  "Draw anew what is open of PATHS in PROJECT."
  (dolist (buffer (sould-sync-buffers project))
    (with-current-buffer buffer
      (when (or (eq paths t) (member sould-sync--path paths))
        (sould-sync-look)
        (sould-hunks-redraw)))))

(add-hook 'sould-project-changed-functions #'sould-hunks--changed)

(provide 'sould-hunks)
;;; sould-hunks.el ends here
