;;; sould-window.el --- What this Emacs shows and can do, told to sould  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; Tells each project's server what is open here and which tools this Emacs serves to agents, whenever that changes.  What of it
;; agents may know is decided by sould (`/editor-context'), not here.  Nothing here shows anything, moves point or asks the user.

;;; Code:

(require 'sould-sync)

(defconst sould-window-tools
  '(("editor_open" sould-show-open "sould-show")
    ("doc_save" sould-show-save "sould-show")
    ("diagnostics" sould-show-diagnostics "sould-show")
    ("doc_format" sould-language-format "sould-language")
    ("symbols" sould-language-symbols "sould-language")
    ("definition" sould-language-definition "sould-language")
    ("references" sould-language-references "sould-language")
    ("hover" sould-language-hover "sould-language")
    ("rename" sould-language-rename "sould-language"))
  "The tools that agents may call here.
With each the function that takes the call, and where it is.")

(defconst sould-window--pause 0.3 "Seconds in which changes are gathered.")
(defconst sould-window--longest-selection 8000 "Characters that are told of what is selected.")

(defvar sould-window--timer nil "Tells what has changed, soon.")
(defvar sould-window--told nil "What was told last, by project.")

(autoload 'sould-call-answer "sould-call")
(pcase-dolist (`(,_ ,function ,file) sould-window-tools)
  (autoload function file))

;;;; Places

(defun sould-window-place (place)
  "PLACE of the current buffer as sould counts: from 1, columns in UTF-16 units."
  (let ((position (sould-sync-position place)))
    (list :line (1+ (plist-get position :line)) :column (1+ (plist-get position :character)))))

(defun sould-window-span (begin end)
  "From BEGIN to END of the current buffer, as `sould-window-place' counts."
  (list :start (sould-window-place begin) :end (sould-window-place end)))

;;;; What is told

(defun sould-window--buffer ()
  "The buffer before the user."
  (window-buffer (or (minibuffer-selected-window) (selected-window))))

(defun sould-window--selection ()
  "What is selected in the current buffer, as a part of a plist."
  (when (and mark-active transient-mark-mode (/= (point) (mark)))
    (let ((begin (min (point) (mark))) (end (max (point) (mark))))
      (list :selection
            (list :range (sould-window-span begin end)
                  :text (buffer-substring-no-properties begin (min end (+ begin sould-window--longest-selection))))))))

(defun sould-window--active (buffer)
  "How BUFFER stands, which is before the user."
  (with-current-buffer buffer
    (save-restriction
      (widen)
      (let ((window (get-buffer-window buffer t)))
        (append (list :file sould-sync--path
                      :languageId (string-remove-suffix "-mode" (symbol-name major-mode))
                      :cursor (sould-window-place (if window (window-point window) (point))))
                (sould-window--selection)
                (when window
                  (list :visible (sould-window-span (window-start window) (window-end window)))))))))

(defun sould-window--state (project)
  "How this Emacs stands, for PROJECT."
  (let* ((buffers (sould-sync-buffers project))
         (active (car (memq (sould-window--buffer) buffers))))
    (append (list :tools (vconcat (mapcar #'car sould-window-tools))
                  :app "Emacs"
                  :workspaceFolders (vector (directory-file-name (sould-project-root project)))
                  :focused (if (and active (frame-focus-state)) t :false)
                  :open (vconcat (mapcar (lambda (buffer)
                                           (list :file (buffer-local-value 'sould-sync--path buffer)
                                                 :dirty (if (buffer-modified-p buffer) t :false)))
                                         buffers)))
            (when active
              (list :active (sould-window--active active))))))

(defun sould-window--tell (project)
  "Tell PROJECT how this Emacs stands, if that is not what it was told last."
  (let ((state (sould-window--state project)))
    (unless (equal state (alist-get project sould-window--told))
      (setf (alist-get project sould-window--told) state)
      (sould-project-notify project "_sould/editor/state" state))))

(defun sould-window--changed (&rest _)
  "Tell what has changed, soon."
  (when (and sould-project-all (not sould-window--timer))
    (setq sould-window--timer (run-at-time sould-window--pause nil #'sould-window--tell-all))))

(defun sould-window--tell-all ()
  "Tell each project how this Emacs stands."
  (setq sould-window--timer nil
        sould-window--told (seq-filter (lambda (told) (memq (car told) sould-project-all)) sould-window--told))
  (dolist (project sould-project-all)
    (when (sould-project-ready project)
      (sould-window--tell project)))
  (unless (seq-some #'sould-sync-buffers sould-project-all)
    (sould-window--unwatch)))

(defun sould-window--forgotten (project)
  "The server of PROJECT knows nothing of this Emacs."
  (setf (alist-get project sould-window--told) nil)
  (sould-window--tell project))

(defun sould-window--heard (project method _params)
  "Take METHOD of PROJECT, if it is about what was told."
  (when (equal method "_sould/editor/forgotten")
    (sould-window--forgotten project)))

(add-hook 'sould-project-ready-functions #'sould-window--forgotten)
(add-hook 'sould-project-told-functions #'sould-window--heard)
(setq sould-project-call-function (lambda (params reply) (sould-call-answer params reply)))

;;;; Watching

(defconst sould-window--hooks '(post-command-hook window-buffer-change-functions kill-buffer-hook)
  "Hooks that run when what is told may have changed.")

(defun sould-window-watch ()
  "Tell each change from now on, until no buffer is reported any more."
  (dolist (hook sould-window--hooks)
    (add-hook hook #'sould-window--changed))
  (add-function :after after-focus-change-function #'sould-window--changed)
  (sould-window--changed))

(defun sould-window--unwatch ()
  "Leave nothing behind in hooks of Emacs."
  (dolist (hook sould-window--hooks)
    (remove-hook hook #'sould-window--changed))
  (remove-function after-focus-change-function #'sould-window--changed))

(provide 'sould-window)
;;; sould-window.el ends here
